package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// numberedNotes returns n notes with the ids n0000, n0001 and so on.
func numberedNotes(n int) (vs []*note, ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("n%04d", i))
		vs = append(vs, &note{ID: ids[i], Text: "x"})
	}
	return vs, ids
}

func wantFailed(t *testing.T, err error, want map[int]error) {
	t.Helper()
	got := map[int]error{}
	for i, err := range kvmodel.Items(err) {
		got[i] = err
	}
	wantSame(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)), "failed items")
	for i, sentinel := range want {
		if !errors.Is(got[i], sentinel) {
			t.Errorf("item %d ended in %v, want %v", i, got[i], sentinel)
		}
	}
}

func TestRecords_Multi_EachRecordIsChangedOrFailsOnItsOwn(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		const n = 1100
		vs, ids := numberedNotes(n)
		must(t, r.CreateMulti(ctx, vs[:n-100]))

		some, failed := r.UpdateMulti(ctx, append(ids[:n-98:n-98], "n0003", ""), func(v *note) error {
			switch v.ID {
			case "n0001":
				return errBlank
			case "n0002":
				v.Text = ""
			default:
				v.Text += "+"
			}
			return nil
		})
		wantFailed(t, failed, map[int]error{1: errBlank, 2: kvmodel.ErrInvalid, n - 100: kv.ErrNotFound, n - 99: kv.ErrNotFound, n - 97: kvmodel.ErrInvalid})
		if some[0].Text != "x+" || some[1] != nil || some[n-100] != nil || len(some) != n-96 {
			t.Errorf("UpdateMulti returned %d records, the first is %+v", len(some), some[0])
		}
		if v, err := r.Get(ctx, "n0003"); err != nil || v.Text != "x++" {
			t.Errorf("the record that came twice is %+v, %v; want both changes", v, err)
		}

		vs[4].Version, vs[5].Text, vs[6].Text = 9, "", "new"
		for _, v := range []*note{vs[6], vs[7]} {
			v.Version = 2 // It was created and updated.
		}
		wantFailed(t, r.PutMulti(ctx, []*note{vs[4], vs[5], vs[6], vs[7], {Text: "fresh"}}), map[int]error{0: kv.ErrConflict, 1: kv.ErrConflict})
		if v, err := r.Get(ctx, "n0006"); err != nil || v.Text != "new" {
			t.Errorf("PutMulti made it %+v, %v", v, err)
		}

		// The last batch has an unknown record, one of the first batch, and an empty id.
		there := n - 100
		failed = r.DeleteMulti(ctx, append(ids[10:there+1:there+1], "n0010", ""))
		never, first, again, empty := there-10, 0, there-9, there-8
		deleted := again // Of two deletions of a record, the second finds nothing.
		for i := range kvmodel.Items(failed) {
			if i == first {
				deleted = first
			}
		}
		wantFailed(t, failed, map[int]error{deleted: kv.ErrNotFound, never: kv.ErrNotFound, empty: kv.ErrNotFound})
		wantSame(t, 11, len(allIDs(t, ctx, r)), "records left")
	})
}

func TestItems_GoesThroughWhateverWrapsThem(t *testing.T) {
	err := fmt.Errorf("import: %w", errors.Join(
		kv.Join(&kvmodel.ItemError{Index: 3, Err: kv.ErrExists}, errors.New("other")),
		fmt.Errorf("again: %w", &kvmodel.ItemError{Index: 5, Err: kv.ErrNotFound}),
	))
	wantFailed(t, err, map[int]error{3: kv.ErrExists, 5: kv.ErrNotFound})
	wantFailed(t, nil, nil)
	for i := range kvmodel.Items(err) {
		proof.Equal(t, i, 3, "Items went on to")
		break
	}
}

func TestRecords_Multi_CostsTheTripsOfOnePer500(t *testing.T) {
	ctx := t.Context()
	r := kvmodel.NewRecords(closing(t, open(t, plain(memkv.New(memkv.Options{})))), simpleNotes())
	vs, ids := numberedNotes(1201)
	must(t, r.CreateMulti(ctx, vs))
	last := ids[1200]
	change := func(v *note) error { v.Text += "!"; return nil }
	for name, verbs := range map[string][2]func(ctx context.Context) error{
		"Update": {
			func(ctx context.Context) error { _, err := r.Update(ctx, last, change); return err },
			func(ctx context.Context) error { _, err := r.UpdateMulti(ctx, ids[:1200], change); return err },
		},
		"Put": {
			func(ctx context.Context) error { return r.Put(ctx, &note{ID: last, Text: "put"}) },
			func(ctx context.Context) error { return r.PutMulti(ctx, vs[:1200]) },
		},
	} {
		one := cost(t, ctx, verbs[0])
		if all := cost(t, ctx, verbs[1]); all.Trips > 3*one.Trips {
			t.Errorf("%s of 1,200 took %d trips, want 3 x %d at most", name, all.Trips, one.Trips)
		}
	}
	one := cost(t, ctx, func(ctx context.Context) error { return r.Delete(ctx, last) })
	all := cost(t, ctx, func(ctx context.Context) error { return r.DeleteMulti(ctx, ids[:1200]) })
	if all.Trips > 3*one.Trips {
		t.Errorf("Delete of 1,200 took %d trips, want 3 x %d at most", all.Trips, one.Trips)
	}
}

type counting struct {
	kv.Store
	n *int
}

func (c counting) Powers() kv.Powers {
	p := kv.PowersOf(c.Store)
	atomic := p.Atomic
	p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
		*c.n++
		return atomic(ctx, f)
	}
	return p
}

func TestRecords_Multi_ShareTransactionsUpToAThousandRecordsOrFourMegabytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, transactions := t.Context(), 0
		r := kvmodel.NewRecords(closing(t, open(t, counting{memkv.New(memkv.Options{}), &transactions})), simpleNotes())
		for _, c := range []struct{ records, bytes, most int }{
			{3100, 10, 6},    // of 100, 200, 400, 800, 1,000 and the rest
			{70, 1 << 17, 3}, // of 8 MiB in all
			{3, 1 << 19, 1},
		} {
			vs, ids := numberedNotes(c.records)
			for _, v := range vs {
				v.Text = strings.Repeat("x", c.bytes)
			}
			transactions = 0
			must(t, r.CreateMulti(ctx, vs))
			if transactions > c.most {
				t.Errorf("%d records of %d bytes took %d transactions, want %d", c.records, c.bytes, transactions, c.most)
			}
			must(t, r.DeleteMulti(ctx, ids))
		}
	})
}

// Two calls with the same records in another order must not wait for each other.
func TestRecords_Multi_CallsForTheSameRecordsTakeTheirTurns(t *testing.T) {
	eachNotes(t, simpleNotes(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		vs, ids := numberedNotes(40)
		must(t, r.CreateMulti(ctx, vs))
		backwards := slices.Clone(ids)
		slices.Reverse(backwards)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				some := [][]string{ids, backwards}[i%2]
				if _, err := r.UpdateMulti(ctx, some, func(v *note) error { v.Text += "."; return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for v, err := range r.All(ctx) {
			if err != nil || strings.Count(v.Text, ".") != 8 {
				t.Errorf("%+v, %v; want all eight changes", v, err)
			}
		}
	})
}

func TestRecords_Multi_APanicReachesItsCaller(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		v := kvmodel.NewRecords(closing(t, open(t, s)), noteSchema())
		must(t, errors.Join(v.Create(ctx, &note{ID: "a", Text: "x"}), v.Create(ctx, &note{ID: "b", Text: "x"})))
		func() {
			defer func() {
				proof.Equal(t, recover(), "lost my way", "recovered")
			}()
			_, _ = v.UpdateMulti(ctx, []string{"a", "b"}, func(*note) error { panic("lost my way") })
			t.Error("it returned")
		}()
		_, err := v.UpdateMulti(ctx, []string{"a", "b"}, func(n *note) error { n.Text = "found"; return nil })
		must(t, err) // No turn was left.
	})
}

func TestUpdate_WithinTheFunctionOfAnotherFailsAndSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		v := kvmodel.NewRecords(closing(t, open(t, memkv.New(memkv.Options{}))), noteSchema())
		must(t, v.Create(ctx, &note{ID: "a", Text: "x"}))
		set := func(text string) func(*note) error {
			return func(n *note) error { n.Text = text; return nil }
		}
		began := time.Now()
		_, err := v.Update(ctx, "a", func(*note) error {
			_, err := v.Update(ctx, "a", set("inner"))
			return err
		})
		if wantErr(t, err, kvmodel.ErrUnavailable); !strings.Contains(err.Error(), "inside its function") || time.Since(began) > 2*time.Minute {
			t.Errorf("got %v after %v, want why, after a minute", err, time.Since(began))
		}
		proof.Done(t)(v.Update(ctx, "a", set("next")))
	})
}

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
		proof.Equal(t, n, 1000, "Load went through")
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
