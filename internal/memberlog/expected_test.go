package memberlog

import (
	"context"
	"slices"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// afterwards calls do after a trip, before the answer.
type afterwards struct {
	kv.Store
	do func()
}

func (a *afterwards) Do(ctx context.Context, ops []kv.Op) error {
	err := a.Store.Do(ctx, ops)
	if do := a.do; do != nil {
		a.do = nil
		do()
	}
	return err
}

func TestLogs_Expect_CountsForAReaderWhoseTripTheRemovalOvertakes(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	s := &afterwards{Store: server{mem}}
	l, _ := prompt(s, DefaultLimits)
	must(t, l.Write(ctx, s, place, Entry{ID: "ann", Rev: 1, In: true}))
	out := Entry{ID: "ann", Rev: 2, At: 1}
	l.Expect(place, out)
	s.do = func() {
		must(t, l.Write(ctx, mem, place, out))
		l.Written(place, out)
	}
	if n, err := l.Count(ctx, s, place); err != nil || n != 0 {
		t.Errorf("Count: %d, %v; want 0", n, err)
	}
}

func TestLogs_Expect_IsForgottenOnlyAfterManyOthers(t *testing.T) {
	ctx := t.Context()
	l, wait := prompt(memkv.New(memkv.Options{}), DefaultLimits)
	ids := fill(t, l, wait, 10)
	for _, id := range ids[:4] {
		l.Expect(place, Entry{ID: id, Rev: 2, At: 1})
	}
	for range 3 * maxExpected / 2 {
		l.Expect("another", Entry{ID: "x", Rev: 2, At: 1})
	}
	l.Expect(place, Entry{ID: ids[0], Rev: 3, At: 1})
	l.Written(place, Entry{ID: ids[0], Rev: 2, At: 1})
	if n, err := l.Count(ctx, l.Store, place); err != nil || n != 6 {
		t.Errorf("Count: %d, %v; want 6", n, err)
	}
	for range maxExpected {
		l.Expect("another", Entry{ID: "x", Rev: 2, At: 1})
	}
	if n := len(l.expected.of(place)); n != 1 {
		t.Errorf("%d are remembered, want the last", n)
	}
}

func TestLogs_Expect_EntersAMemberThatNoSegmentHasYet(t *testing.T) {
	ctx := t.Context()
	l, wait := prompt(memkv.New(memkv.Options{}), small)
	ids := fill(t, l, wait, 100)
	for _, id := range []string{ids[0], "ann", "bob"} {
		l.Expect(place, Entry{ID: id, Rev: 2, In: true})
	}
	want := slices.Sorted(slices.Values(append(ids, "ann", "bob")))
	if got := members(t, l); segments(t, l) < 2 || !slices.Equal(got, want) {
		t.Errorf("the members in %d segments are %q, want %q in several", segments(t, l), got, want)
	}
	for _, id := range []string{ids[0], "ann", "bob"} {
		l.Written(place, Entry{ID: id, Rev: 3})
	}
	if n, err := l.Count(ctx, l.Store, place); err != nil || n != 100 {
		t.Errorf("Count: %d, %v; want 100 once nothing is expected", n, err)
	}
}
