package keytree

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var entries = cmp.AllowUnexported(entry{}, Score{})

func edited(before []entry, edits ...func(*nodes) *edit) []entry {
	p := &nodes{order: order{code: Signed}}
	l := &leaf{entries: before}
	for _, e := range edits {
		l = l.with(&p.order, e(p), nil)
	}
	return l.entries
}

func putting(score Score, ver uint64) func(*nodes) *edit {
	return func(p *nodes) *edit { return p.putting("a", State{Score: score, Ver: ver}) }
}

func tidying(now State) func(*nodes) *edit {
	return func(p *nodes) *edit { return p.tidying("a", now.Score, now) }
}

func TestLeaf_AnEntryCountsOnceItsRecordWasSeen(t *testing.T) {
	for name, c := range map[string]struct {
		before []entry
		edits  []func(*nodes) *edit
		want   []entry
	}{
		"what is added is pending": {
			nil, []func(*nodes) *edit{putting(FromUint(7), 1)}, []entry{{FromUint(7), 1, "a", true}},
		},
		"it is added once": {
			nil, []func(*nodes) *edit{putting(FromUint(7), 1), putting(FromUint(7), 1)}, []entry{{FromUint(7), 1, "a", true}},
		},
		"one that counts keeps its version": {
			[]entry{{FromUint(7), 1, "a", false}}, []func(*nodes) *edit{putting(FromUint(7), 3)}, []entry{{FromUint(7), 1, "a", false}, {FromUint(7), 3, "a", true}},
		},
		"one that counts goes with the version at which it was left": {
			[]entry{{FromUint(7), 1, "a", false}}, []func(*nodes) *edit{putting(FromUint(7), 3), tidying(State{In: true, Score: FromUint(9), Ver: 2})}, []entry{{FromUint(7), 3, "a", true}},
		},
		"the newest that the record confirms stays": {
			[]entry{{FromUint(7), 1, "a", false}, {FromUint(7), 2, "a", true}, {FromUint(7), 4, "a", true}, {FromUint(8), 2, "a", true}, {FromUint(9), 2, "b", true}},
			[]func(*nodes) *edit{tidying(State{In: true, Score: FromUint(7), Ver: 3})},
			[]entry{{FromUint(7), 3, "a", false}, {FromUint(7), 4, "a", true}, {FromUint(9), 2, "b", true}},
		},
		"of many that are pending, two stay": {
			nil, []func(*nodes) *edit{putting(FromUint(7), 3), putting(FromUint(7), 1), putting(FromUint(7), 2), putting(FromUint(7), 9), putting(FromUint(7), 5)},
			[]entry{{FromUint(7), 1, "a", true}, {FromUint(7), 9, "a", true}},
		},
		"where the lower one of two goes, the versions between stay possible": {
			[]entry{{FromUint(7), 1, "a", true}, {FromUint(7), 9, "a", true}}, []func(*nodes) *edit{tidying(State{Ver: 4})},
			[]entry{{FromUint(7), 5, "a", true}, {FromUint(7), 9, "a", true}},
		},
		"of a member that is out nothing stays": {
			[]entry{{FromUint(7), 1, "a", false}, {FromUint(8), 2, "a", true}}, []func(*nodes) *edit{tidying(State{Ver: 2})}, []entry{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			proof.NoDiff(t, cmp.Diff(c.want, edited(c.before, c.edits...), entries), "mismatch")
		})
	}
}

func TestLeaf_IsReadAsItWasWritten(t *testing.T) {
	word := strings.Repeat("x", MaxWord)
	for name, c := range map[string]struct {
		leaf  leaf
		value string // without its sum; "": not looked at
	}{
		"numbers": {
			leaf{pushed: tally{members: 2}, seq: 7, entries: []entry{{FromInt(3), 1700000000000, "a", false}, {FromInt(3), 1700000000001, "b", false}}},
			"K1L\x00\a\x02\x02\x80\x00\x00\x00\x00\x00\x00\x03\x01\x8b\xcf\xe5h\x00\x01a\x80\x00\x00\x00\x00\x00\x00\x03\x01\x8b\xcf\xe5h\x01\x01b",
		},
		"words": {
			leaf{pushed: tally{members: 2}, seq: 3, entries: []entry{{FromWord("a\x00"), 1700000000000, "x", false}, {FromWord("b\x00"), 7, "yz", true}}},
			"K1L\x10\x03\x02\x02\x02a\x00\x01\x8b\xcf\xe5h\x00\x01x\x02b\x00\x80\x00\x00\x00\x00\a\x02yz",
		},
		"pending":    {leaf{seq: 3, entries: []entry{{FromUint(7), 1, "a", false}, {FromUint(7), 3, "a", true}, {FromUint(8), 1<<47 - 1, "b", true}}}, ""},
		"ties":       {leaf{entries: []entry{{FromInt(-3).WithTie(MaxTie), 1, "a", true}, {FromInt(5), 2, "b", false}, {FromInt(5).WithTie(9), 3, "c", false}}}, ""},
		"long words": {leaf{entries: slices.Repeat([]entry{{FromWord(word), 1, "x", false}}, 9)}, ""},
	} {
		value := c.leaf.encode(nil)
		if got := string(value[:len(value)-frame.Sum]); c.value != "" && got != c.value {
			t.Errorf("%s: a leaf is written as %q, want %q", name, got, c.value)
		}
		if n := c.leaf.bytes(); n < len(value) {
			t.Errorf("%s: a leaf of %d bytes is taken for one of %d", name, len(value), n)
		}
		got, err := decodeNode(kv.Result{Value: value, Version: 1})
		if err != nil || got.leaf == nil {
			t.Fatal(name, got, err)
		}
		proof.NoDiff(t, cmp.Diff(c.leaf, *got.leaf, entries, cmp.AllowUnexported(leaf{}, tally{})), "%s", name)
		if _, err := Show("rank:t:1:key0", value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type moving struct {
	Truth
	next []func() // after each read, one
}

func (m *moving) States(ctx context.Context, s kv.Store, ids []string) ([]State, error) {
	states, err := m.Truth.States(ctx, s, ids)
	if len(m.next) > 0 {
		now := m.next[0]
		m.next = m.next[1:]
		now()
	}
	return states, err
}

func (r *ranking) repair(s kv.Store, id string, st State) error {
	due, err := r.Repair(ctx, s, id, st.Score, st)
	if err == nil {
		err = due.Report(ctx, s)
	}
	return err
}

func (r *ranking) wantClean(t *testing.T, members int, ids ...string) {
	t.Helper()
	if n, err := r.Count(ctx, r.s, Between{}); n != members || err != nil {
		t.Errorf("%d members, %v", n, err)
	}
	if report := r.checkInvariants(t, ids...); report.Stale+report.Pending > 0 {
		t.Errorf("%+v", report)
	}
}

func TestTree_Repair_DoesNotCountWhatTheRecordHasLeftMeanwhile(t *testing.T) {
	r := open(newMem())
	r.set(t, "a", 1)
	r.set(t, "b", 2)
	// The entry of a is lost, and a moves before the repair adds it.
	p := r.epochsNow(t)
	must(t, p.editOne(ctx, r.s, p.tidying("a", FromInt(1), State{Ver: 1 << 46}), new(reports)))
	st, err := r.state(ctx, r.s, "a")
	must(t, err)
	r.Truth = &moving{r.own, []func(){func() { r.set(t, "a", 5) }}}
	must(t, r.repair(r.s, "a", st))
	r.wantClean(t, 2, "a", "b")
}

// asleep answers reads of a root after a minute.
type asleep struct{ kv.Store }

func (asleep) Powers() kv.Powers { return kv.Powers{} }

func (a asleep) Do(ctx context.Context, ops []kv.Op) error {
	err := a.Store.Do(ctx, ops)
	if strings.HasSuffix(ops[0].Key, ":key0") && ops[0].Kind == kv.Get {
		time.Sleep(time.Minute)
	}
	return err
}

func TestTree_Repair_WhatWasReadLongAgoIsPutInByNoOne(t *testing.T) {
	for name, another := range map[string]bool{"its own write comes first": false, "another write comes first": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newMem()
				r, other := open(s), open(s)
				r.set(t, "a", 1)
				r.set(t, "b", 2)
				st, err := r.state(ctx, r.s, "a")
				must(t, err)
				repaired := make(chan error)
				go func() { repaired <- r.repair(asleep{s}, "a", st) }()
				synctest.Wait()
				other.remove(t, "a")
				if another {
					time.Sleep(30 * time.Second)
					r.set(t, "b", 3)
					other.wantClean(t, 1, "b")
				}
				if err := <-repaired; err != nil {
					t.Error(err)
				}
				other.wantClean(t, 1, "b")
			})
		})
	}
}

func (r *ranking) epochsNow(t *testing.T) *nodes {
	t.Helper()
	ep, err := r.epochs(ctx, r.s, false)
	must(t, err)
	return ep.read
}

func TestNode_RoutersAndRecordsAreWrittenAsBefore(t *testing.T) {
	value := "K1R\x00\t\x05\x00\x03\x02\x01\x04\x00\x00\x01\x03\x01\x00\x00\xbf\xc0;\xdf"
	r, err := decodeNode(kv.Result{Version: 1, Value: []byte(value)})
	if err != nil || r.router == nil || r.router.members() != 5 {
		t.Fatal(r, err)
	}
	proof.Equal(t, string(r.router.encode(nil)), value, "a router is written")
	for record, want := range map[string]State{
		"K1I\x01\x80\x00\x00\x00\x00\x00\x00\x05\x01\x8b\xcf\xe5h\x02z\xb7\x8f3":        {In: true, Score: FromInt(5), Ver: 1700000000002},
		string(encodeState(State{In: true, Score: FromInt(5).WithTie(MaxTie), Ver: 7})): {In: true, Score: FromInt(5).WithTie(MaxTie), Ver: 7},
	} {
		st, err := decodeState(kv.Result{Version: 1, Value: []byte(record)})
		if st != want || err != nil || string(encodeState(st)) != record {
			t.Errorf("%q is read as %+v, %v; want %+v", record, st, err, want)
		}
	}
}

// A server that has lost its memory may reuse versions.
func TestLocal_ALeafIsKnownByItsValue(t *testing.T) {
	local := NewLocal(10)
	p := &nodes{root: "rank:t:", local: local}
	stored := func(id string, version kv.Version) kv.Result {
		l := &leaf{entries: []entry{{score: FromUint(1), ver: 1, id: id}}}
		return kv.Result{Value: l.encode(nil), Version: version}
	}
	decoded := func(r kv.Result) *leaf {
		got, err := p.decode("rank:t:a", r)
		if err != nil || got.leaf == nil {
			t.Fatalf("a leaf is decoded as %+v, %v", got, err)
		}
		return got.leaf
	}
	first := decoded(stored("a", 7))
	if again := decoded(stored("a", 7)); again != first {
		t.Error("a leaf was decoded twice")
	}
	for _, r := range []kv.Result{stored("b", 7), stored("b", 8)} {
		if got := decoded(r); got.entries[0].id != "b" {
			t.Errorf("version %d has %q, want b", r.Version, got.entries[0].id)
		}
	}
	for i := range 2 * maxLeaves {
		proof.Done(t)(p.decode(fmt.Sprint("rank:t:", i), stored("a", 7)))
	}
	if n := len(local.leaves); n > maxLeaves {
		t.Errorf("%d leaves are remembered, want at most %d", n, maxLeaves)
	}
}
