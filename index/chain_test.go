package index_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// watched is an ordered store of single keys that calls after for each trip.
type watched struct {
	kv.Store
	after func(ops []kv.Op)
}

func (w *watched) Powers() kv.Powers { return kv.Powers{Unless: true, Ordered: true} }

func (w *watched) Do(ctx context.Context, ops []kv.Op) error {
	err := w.Store.Do(ctx, ops)
	w.after(ops)
	return err
}

func (w *watched) Close() error { return nil }

// A change in one trip writes to the list as its process remembers it. If another process has
// replaced that, the record must wait for its entry.
func TestLists_AfterEachTripARecordIsInItsLists(t *testing.T) {
	ctx := t.Context()
	s := &watched{memkv.New(memkv.Options{}), func([]kv.Op) {}}
	one, other, reader := openSweep(s), openSweep(s), openSweep(&watched{s.Store, func([]kv.Op) {}})
	inOneTrip, refused := 0, 0
	for i := range 60 {
		id := fmt.Sprint("id", i)
		s.after = func(ops []kv.Op) {
			record := false
			for _, op := range ops {
				record = record || op.Key == "r:Book:"+id && op.Chain != 0 && op.Result.Err == nil
				if op.Chain != 0 && op.Kind == kv.Append && op.Result.Err != nil {
					refused++
				}
			}
			if record {
				inOneTrip++
			}
			if _, err := reader.Get(ctx, id); err != nil {
				return
			}
			for _, l := range []*index.List[book, string]{reader.ByTags.Of("go"), reader.ByAuthor.Of("knuth")} {
				if !slices.Contains(idsOf(t, ctx, l), id) {
					t.Errorf("a trip left %s without its entry in a list", id)
				}
			}
		}
		must(t, one.Create(ctx, &book{ID: id, Author: "knuth", Tags: []string{"go"}}))
		s.after = func([]kv.Op) {}
		if i%3 == 0 {
			// the other process divides the lists
			must(t, other.Create(ctx, &book{ID: id + "-other", Author: "knuth", Tags: []string{"go"}}))
			must(t, other.db.Flush(ctx))
		}
		must(t, one.db.Flush(ctx))
	}
	if inOneTrip < 10 || refused < 3 {
		t.Errorf("%d changes took one trip, and %d appends of one were refused; want both", inOneTrip, refused)
	}
	for _, b := range []*books{one, other, reader} {
		must(t, b.db.Close(ctx))
	}
}
