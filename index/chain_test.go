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

// A change in one trip writes to the list as its process remembers it. If another process has
// replaced that, the record must wait for its entry.
func TestLists_AfterEachTripARecordIsInItsLists(t *testing.T) {
	ctx := t.Context()
	mem, after := server{memkv.New(memkv.Options{})}, func([]kv.Op) {}
	s := hooked{shared{mem}, func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		err := s.Do(ctx, ops)
		after(ops)
		return err
	}}
	one, other, reader := openSweep(s), openSweep(s), openSweep(shared{mem})
	inOneTrip, refused := 0, 0
	for i := range 60 {
		id := fmt.Sprint("id", i)
		after = func(ops []kv.Op) {
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
		after = func([]kv.Op) {}
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
