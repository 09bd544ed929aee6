package keytree

import (
	"context"
	"math"
	"slices"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type Member struct {
	ID    string
	Score Score
	Value any
}

type Want struct {
	// Unverified saves a trip, and may show leftovers of a running or crashed change.
	Unverified bool

	Placed bool
	Keep   func(Member) bool

	// Beside reads a value for each member along with its record; nil leaves it out.
	Beside func(ctx context.Context, s kv.Store, ids []string) ([]any, error)

	// Met is called for an entry to tidy: stale, confirmed but still pending, dead, or left out by
	// Beside. It must not use the store.
	Met func(Doubt)

	// Gone is called for a member with a value from Beside and a lost record. It must not use the
	// store.
	Gone func(id string)
}

type finding struct {
	members []Member
	behind  point
	more    bool
}

// list returns fewer members after as many entries as [plug.Ask] allows. A member that has moved is
// listed at its new position only if that is in the part just read.
func (t *Tree) list(ctx context.Context, s kv.Store, r *reading, st stretch, n int, w Want) (finding, error) {
	r.trusting = w.Unverified
	f := finding{behind: st.from, more: true}
	var listed map[string]bool
	for looked, ask := 0, n; ask > 0 && f.more; ask = plug.Ask(n, len(f.members), looked) {
		if err := r.answer(ctx, s, r.reach(st, ask+1)); err != nil {
			return f, err
		}
		entries, all := r.entries(st, ask+1)
		part := st
		f.more = !all || len(entries) > ask
		if f.more && len(entries) > 0 {
			entries = entries[:min(ask, len(entries))]
			last := entries[len(entries)-1]
			part.to = r.point(last.score, last.id).beside(st.ascends())
		}
		members, err := t.verify(ctx, s, r.nodes, part, entries, w)
		if err != nil {
			return f, err
		}
		f.members = slices.Grow(f.members, min(len(members), n-len(f.members)))
		for _, m := range members {
			if len(f.members) == n {
				f.more, part.to = true, r.pointOf(f.members[n-1]).beside(st.ascends())
				break
			}
			if !listed[m.ID] && (w.Keep == nil || w.Keep(m)) {
				f.members = append(f.members, m)
			}
		}
		if f.more && len(f.members) < n {
			listed = make(map[string]bool, len(f.members))
			for _, m := range f.members {
				listed[m.ID] = true
			}
		}
		looked += max(1, len(entries))
		st.from, f.behind = part.to, part.to
	}
	return f, nil
}

func (r *reading) scan(ctx context.Context, s kv.Store, atOnce int, f func(ids []string) error) error {
	for st, all := (Between{}).stretch(false), false; !all; {
		r.seen.clear() // The tree may be larger than memory.
		r.begin()
		if err := r.answer(ctx, s, r.reach(st, atOnce)); err != nil {
			return err
		}
		var entries []entry
		entries, all = r.entries(st, math.MaxInt)
		if len(entries) == 0 || r.lost != nil {
			return nil
		}
		if err := f(uniq(idsOf(entries))); err != nil {
			return err
		}
		last := entries[len(entries)-1]
		st.from = r.point(last.score, last.id).beside(true)
	}
	return nil
}

// verify puts members at the positions in their records. entries are all those of part.
func (t *Tree) verify(ctx context.Context, s kv.Store, p *nodes, part stretch, entries []entry, w Want) ([]Member, error) {
	if w.Unverified || len(entries) == 0 {
		return p.members(entries), nil
	}
	ids, repeat := idsOf(entries), repeat(entries)
	if repeat {
		ids = uniq(ids)
	}
	states, values, err := t.statesOf(ctx, ahead.Then(s), ids, w)
	if err != nil {
		return nil, err
	}
	members, moved := make([]Member, 0, len(ids)), false
	for i, id := range ids {
		st, own := &states[i], entries
		if !repeat {
			own = entries[i : i+1]
		}
		if st.Broken != nil && w.Gone == nil {
			return nil, st.Broken
		}
		shown := w.Beside == nil || values[i] != nil
		if st.Ver == 0 && shown && w.Gone != nil && p.counts(own, id, st) {
			w.Gone(id)
		}
		if shown && st.In {
			stays := !repeat && st.Score == own[0].score
			if stays || part.holds(p.point(st.Score, id)) {
				members, moved = append(members, Member{id, st.Score, values[i]}), moved || !stays
			}
		}
		t.meet(own, id, *st, shown, w)
	}
	if moved {
		p.sortMembers(members, part.ascends())
	}
	return members, nil
}

func (p *nodes) sortMembers(members []Member, up bool) {
	slices.SortFunc(members, func(a, b Member) int {
		if !up {
			a, b = b, a
		}
		return p.pointOf(a).compare(p.pointOf(b))
	})
}

// counts reports whether id has an entry that counts, and sets st to the state of the newest.
func (p *nodes) counts(entries []entry, id string, st *State) bool {
	for _, e := range entries {
		if e.id == id && !e.pending && e.ver >= st.Ver {
			*st = State{In: true, Score: e.score, Ver: e.ver, Value: st.Value}
		}
	}
	return st.In
}

func (t *Tree) statesOf(ctx context.Context, s kv.Store, ids []string, w Want) (states []State, values []any, err error) {
	works := []func(kv.Store) error{
		func(s kv.Store) (err error) { states, err = t.Truth.States(ctx, kv.Near(s), ids); return err },
	}
	if w.Beside != nil {
		works = append(works, func(s kv.Store) (err error) { values, err = w.Beside(ctx, kv.Near(s), ids); return err })
	}
	if err := together(ctx, s, works...); err != nil {
		return nil, nil, err
	}
	if w.Beside == nil {
		values = make([]any, len(ids))
		for i, st := range states {
			values[i] = st.Value
		}
	}
	return states, values, nil
}

// meet calls w.Met. An entry that only awaits confirmation is probably being confirmed by its own
// process, so one call in eight is enough, unless id also has a stale one.
func (t *Tree) meet(entries []entry, id string, st State, shown bool, w Want) {
	if w.Met == nil {
		return
	}
	now := t.Now()
	moved := slices.ContainsFunc(entries, func(e entry) bool { return e.id == id && st.judge(e, now) == plug.Stale })
	for _, e := range entries {
		if e.id != id {
			continue
		}
		switch verdict := st.judge(e, now); {
		case verdict == plug.Stale || !shown:
			w.Met(Doubt{ID: id, Score: e.score})
		case verdict == plug.Counts && e.pending && (moved || kv.Random()%8 == 0):
			w.Met(Doubt{ID: id, Score: e.score})
		case verdict == plug.Dead:
			w.Met(Doubt{ID: id, Score: e.score, Past: e.ver})
		}
	}
}

func (p *nodes) members(entries []entry) []Member {
	members := make([]Member, len(entries))
	for i, e := range entries {
		members[i] = Member{ID: e.id, Score: e.score}
	}
	return members
}

// query does nothing without a tree. ErrNeedsRebuild: work needed a lost node, or the tree is lost.
func (t *Tree) query(ctx context.Context, s kv.Store, work func(*reading) error, beside ...func(kv.Store) error) error {
	for try := 0; ; try++ {
		done, err := t.try(ctx, s, try == 0, work, beside)
		if done || err != nil {
			return err
		}
	}
}

func (t *Tree) try(ctx context.Context, s kv.Store, first bool, work func(*reading) error, beside []func(kv.Store) error) (done bool, err error) {
	room := rooms.Get().(*readingRoom)
	defer room.leave()
	if first {
		room.store, room.prefix = kv.MemoryOf(ctx, s)
	}
	known := t.missing()
	m, err := t.shownDefinition(ctx, s, &room.memory, beside)
	switch {
	case err != nil:
		return false, err
	case m == nil && known:
		return false, t.errLost("the definition")
	case m == nil && t.missing():
		return false, nil // It may have been made since the read.
	case m == nil:
		return true, nil
	case m.lost:
		return false, t.errLost("a part")
	}
	r := t.reading(room, m)
	r.shown = first
	if err := work(r); err != nil || r.lost == nil {
		return err == nil, err
	}
	// If the epoch is no longer read, its nodes may have been deleted.
	if m, err = t.readMeta(ctx, s); err != nil || m == nil || m.epoch != r.epoch {
		return false, err
	}
	return true, r.lost
}

// Between is the scores from Low, included, to High, excluded. Their ties do not count. Nil: no
// bound.
type Between struct{ Low, High *Score }

func (b Between) stretch(down bool) stretch {
	low, high := lowest, highest
	if b.Low != nil {
		low = before(*b.Low)
	}
	if b.High != nil {
		high = before(*b.High)
	}
	if down {
		return stretch{high, low}
	}
	return stretch{low, high}
}

func (b Between) empty() bool {
	return b.Low != nil && b.High != nil && b.Low.WithTie(0).Compare(b.High.WithTie(0)) >= 0
}

func (o *order) pointOf(m Member) point { return o.point(m.Score, m.ID) }

// Doubt is an entry to tidy. First the record's version must be raised to Past, and a damaged
// record rewritten as Again.
type Doubt struct {
	ID    string
	Score Score
	Past  uint64
	Again *State
}

func (t *Tree) reading(r *readingRoom, m *meta) *reading {
	t.open(&r.of, m, m.epoch)
	r.nodes = &r.of
	if r.store != nil {
		_, r.inMemory = t.keysIn(r.prefix, r.root)
	}
	r.begin()
	return &r.reading
}

func (t *Tree) shownDefinition(ctx context.Context, s kv.Store, shown *memory, beside []func(kv.Store) error) (*meta, error) {
	if shown.store == nil {
		return t.definition(ctx, s, beside)
	}
	if err := together(ctx, s, beside...); err != nil {
		return nil, err
	}
	metaKey, _ := t.keysIn(shown.prefix, "")
	found := shown.recall(metaKey, keepMeta)
	if found.Decoded == nil {
		results, err := kv.GetDecoded(ctx, kv.Near(s), keepMeta, t.metaKey())
		if err != nil {
			return nil, err
		}
		found = results[0]
	}
	if m, ok := found.Decoded.(*meta); ok && m.code == t.Code {
		return m, nil
	}
	return t.definition(ctx, s, nil)
}
