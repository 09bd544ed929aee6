package keytree

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// The model is a leaf of the real code with the entries of one member at one score. Tries add
// entries for any later versions, in any order. The record takes any of these, or leaves, and any
// process tidies by any state that the record has had. It checks that
//
//  1. a record at the score has an entry that tidying makes count, at every moment;
//  2. no other counts, once the leaf is tidied by the record;
//  3. there are never more than three entries.

const pendingVersions = 5

type pendingState struct {
	leaf   string
	put    [pendingVersions + 1]bool
	was    [pendingVersions + 1]uint8 // by version
	record uint8                      // its version
}

const (
	never uint8 = iota // the record has not had this version
	atScore
	elsewhere
)

type pendingModel struct{ forgetsBetween bool }

func (s pendingState) entries() (all []entry) {
	for _, b := range []byte(s.leaf) {
		all = append(all, entry{FromUint(7), uint64(b / 2), "a", b%2 == 1})
	}
	return all
}

func (s pendingState) with(l *leaf) pendingState {
	var b []byte
	for _, e := range l.entries {
		b = append(b, byte(e.ver)*2)
		if e.pending {
			b[len(b)-1]++
		}
	}
	s.leaf = string(b)
	return s
}

func (s pendingState) stateAt(v uint8) State {
	return State{In: s.was[v] == atScore, Score: FromUint(7), Ver: uint64(v)}
}

func (m pendingModel) steps(s pendingState, emit func(to pendingState, format string, args ...any)) {
	p := &nodes{order: order{code: Signed}}
	l := &leaf{entries: s.entries()}
	for v := uint8(1); v <= pendingVersions; v++ {
		put := s.with(l.with(&p.order, p.putting("a", State{Score: FromUint(7), Ver: uint64(v)}), nil))
		put.put[v] = true
		emit(put, "a try puts in version %d: %v", v, put.entries())
		if v > s.record {
			next := s
			next.record, next.was[v] = v, elsewhere
			emit(next, "the record leaves at version %d", v)
			if next.was[v] = atScore; s.put[v] || s.was[s.record] == atScore {
				emit(next, "the record is there at version %d", v)
			}
		}
		if s.was[v] != never {
			next := s.with(m.tidied(s, l, s.stateAt(v)))
			emit(next, "the leaf is tidied by version %d: %v", v, next.entries())
		}
	}
}

func (m pendingModel) tidied(s pendingState, l *leaf, now State) *leaf {
	// In place, as a write of several edits does, and with another member's entry behind.
	both := &leaf{entries: append(slices.Clone(l.entries), entry{score: FromUint(7), id: "z"})}
	next := *both.tidied("a", now, both.entries)
	next.entries = slices.DeleteFunc(slices.Clone(next.entries), func(e entry) bool { return e.id == "z" })
	if m.forgetsBetween {
		next.entries = slices.DeleteFunc(next.entries, func(e entry) bool { return e.pending && e.ver == now.Ver+1 && !s.put[e.ver] })
	}
	return &next
}

func (m pendingModel) wrong(s pendingState) string {
	l := &leaf{entries: s.entries()}
	if len(l.entries) > 3 {
		return fmt.Sprint("3: ", l.entries)
	}
	counted := l.tidied("a", s.stateAt(s.record), nil).counted()
	switch in := s.was[s.record] == atScore; {
	case in && len(counted) == 0:
		return "1: the member has no entry where it is"
	case !in && len(counted) > 0:
		return "2: the member counts where it is not"
	}
	return ""
}

func TestModels_TwoPendingEntriesStandForManyTries(t *testing.T) {
	for _, mistake := range []bool{false, true} {
		m := pendingModel{mistake}
		n, err := proof.Reach(proof.Model[pendingState]{Begin: pendingState{}, Steps: m.steps, Wrong: m.wrong, Most: 10_000_000})
		if (err != nil) != mistake {
			t.Errorf("mistake %v: %d states, %v", mistake, n, err)
		}
		t.Logf("%d states", n)
	}
}
