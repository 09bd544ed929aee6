package examples_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/timeline"
)

func allMemos(m models) kvmodel.Lister[examples.Memo] {
	return timeline.WithArchive(m.Memos.Newest,
		func(memo *examples.Memo) time.Time { return memo.Made },
		func(t time.Time) kvmodel.Lister[examples.Memo] { return m.Memos.Archive.Between(time.Time{}, t) })
}

func memoIDs(l kvmodel.Lister[examples.Memo], n int) (ids []string) {
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := l.Page(context.Background(), cursor, n)
		check(err)
		for _, memo := range page.Items {
			ids = append(ids, memo.ID)
		}
		cursor = page.Next
	}
	return ids
}

func TestArchiveByTime_ShowsAllThatWereMadeInTheSameMillisecond(t *testing.T) {
	clock := proof.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	_, m, done := open(kvmodel.Clock(clock.Now))
	defer done()
	memos := make([]*examples.Memo, 20)
	for i := range memos {
		memos[i] = &examples.Memo{ID: fmt.Sprintf("m%02d", i)}
	}
	check(m.Memos.CreateMulti(context.Background(), memos))
	ids := memoIDs(allMemos(m), 3)
	if slices.Sort(ids); len(slices.Compact(ids)) != 20 || len(ids) != 20 {
		t.Errorf("it shows %v", ids)
	}
}

func TestArchiveByTime_ShowsEachLiveRecordOnceWhateverHasComeBack(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		clock := proof.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		_, m, done := open(kvmodel.Clock(clock.Now))
		live := map[string]bool{}
		var made []string
		for range 40 {
			if clock.Advance(time.Duration(r.IntN(3)) * time.Millisecond / 2); r.IntN(2) == 0 || made == nil {
				memo := &examples.Memo{ID: fmt.Sprintf("m%02d", len(made))}
				check(m.Memos.Create(context.Background(), memo))
				made, live[memo.ID] = append(made, memo.ID), true
				continue
			}
			id := made[r.IntN(len(made))]
			if live[id] = !live[id]; live[id] {
				check(restore(context.Background(), m.Models, id))
			} else {
				check(trash(context.Background(), m.Models, id))
			}
		}
		want := slices.DeleteFunc(made, func(id string) bool { return !live[id] })
		for _, n := range []int{1, 3, 50} {
			ids := memoIDs(allMemos(m), n)
			ring := memoIDs(m.Memos.Newest, 50)
			if d := cmp.Diff(ring, ids[:min(len(ring), len(ids))]); d != "" {
				t.Errorf("seed %d: what is first: mismatch (-ring +got):\n%s", seed, d)
			}
			slices.Sort(ids)
			if d := cmp.Diff(want, ids); d != "" {
				t.Errorf("seed %d, pages of %d: mismatch (-want +got):\n%s", seed, n, d)
			}
		}
		done()
	}
}

// A memo in the trash is in no other index. A restored one is at the top of the newest, and in the
// archive where it was.
func Example_softDelete() {
	clock := proof.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	ctx, m, done := open(kvmodel.Clock(func() time.Time { clock.Advance(time.Second); return clock.Now() }))
	defer done()
	for i := range 4 {
		check(m.Memos.Create(ctx, &examples.Memo{ID: fmt.Sprint("m", i+1)}))
	}
	show := func(what string) {
		inTrash, err := trashed(ctx, m.Models, "")
		check(err)
		fmt.Println(what, memoIDs(m.Memos.Newest, 10), memoIDs(m.Memos.Archive, 10), len(inTrash.Items))
	}
	show("created: ")
	check(trash(ctx, m.Models, "m2"))
	check(trash(ctx, m.Models, "m3"))
	show("trashed: ")
	check(restore(ctx, m.Models, "m2"))
	show("restored:") // The ring counts entries: this was its fifth, so it has forgotten m1.
	fmt.Println("all:     ", memoIDs(allMemos(m), 10))
	fmt.Println("trash:   ", memoIDs(m.Memos.Trash, 10))
	// Output:
	// created:  [m4 m3 m2 m1] [m4 m3 m2 m1] 0
	// trashed:  [m4 m1] [m4 m1] 2
	// restored: [m2 m4] [m4 m2 m1] 1
	// all:      [m2 m4 m1]
	// trash:    [m3]
}
