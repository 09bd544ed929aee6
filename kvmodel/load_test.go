package kvmodel_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func copiesOf(vs []*note, end error) iter.Seq2[*note, error] {
	return func(yield func(*note, error) bool) {
		for _, v := range vs {
			w := *v
			if !yield(&w, nil) {
				return
			}
		}
		if end != nil {
			yield(nil, end)
		}
	}
}

func TestLoad_GoesOnAfterAnEarlyEndAndStoresNothingTwice(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		vs, ids := numberedNotes(2500)
		stopped, stop := context.WithCancel(ctx)
		n, err := r.Load(stopped, copiesOf(vs, nil), kvmodel.LoadOptions{Progress: func(int) { stop() }})
		if n != 1000 || !errors.Is(err, context.Canceled) {
			t.Errorf("a stopped Load went through %d records, %v; want 1,000 and why", n, err)
		}
		if n, err = r.Load(ctx, copiesOf(vs[:1700], errBlank), kvmodel.LoadOptions{}); n != 1700 || !errors.Is(err, errBlank) {
			t.Errorf("Load of a sequence that ends in an error went through %d records, %v", n, err)
		}
		var done []int
		n, err = r.Load(ctx, copiesOf(vs, nil), kvmodel.LoadOptions{Progress: func(n int) { done = append(done, n) }})
		if diff := cmp.Diff([]int{1000, 2000, 2500}, done); n != 2500 || err != nil || diff != "" {
			t.Errorf("Load went through %d records, %v (-want +got progress):\n%s", n, err, diff)
		}
		wantSame(t, ids, allIDs(t, ctx, r), "stored ids")
		if v, err := r.Get(ctx, "n0007"); err != nil || v.Version != 1 {
			t.Errorf("a record was written again: %+v, %v", v, err)
		}
	})
}

func TestLoad_NamesRecordsThatFailByTheirPlaceInTheSequence(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		vs, _ := numberedNotes(1100)
		must(t, r.Create(ctx, &note{ID: "n1003", Text: "other"}))
		vs[1050].Text = ""
		want := map[int]error{1003: kv.ErrExists, 1050: kvmodel.ErrInvalid}
		n, err := r.Load(ctx, copiesOf(vs, nil), kvmodel.LoadOptions{})
		if n != 1000 {
			t.Errorf("Load went through %d records, want the batch before the failures", n)
		}
		wantFailed(t, err, want)

		got := map[int]error{}
		n, err = r.Load(ctx, copiesOf(vs, nil), kvmodel.LoadOptions{Failed: func(i int, err error) { got[i] = err }})
		if n != 1100 || err != nil || len(got) != 2 || !errors.Is(got[1003], kv.ErrExists) || !errors.Is(got[1050], kvmodel.ErrInvalid) {
			t.Errorf("Load went through %d records, %v, and named %v", n, err, got)
		}
	})
}

func TestLoad_KeepsItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := kvmodel.NewRecords(closing(t, open(t, memkv.New(memkv.Options{}))), simpleNotes())
		vs, _ := numberedNotes(3000)
		began := time.Now()
		_, err := r.Load(t.Context(), copiesOf(vs, nil), kvmodel.LoadOptions{PerSecond: 500})
		if took := time.Since(began); err != nil || took != 6*time.Second {
			t.Errorf("3,000 records at 500 a second took %v, %v", took, err)
		}
	})
}
