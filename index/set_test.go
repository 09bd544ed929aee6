package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func newSets(db *kvmodel.DB, name string) *index.Sets[string, string] {
	return index.NewSets(db, name, kvmodel.StringKey[string](), kvmodel.StringKey[string]())
}

// wantMembers asserts that the set holds want, whichever way it is read.
func wantMembers(t testing.TB, ctx context.Context, s *index.Set[string], want ...string) {
	t.Helper()
	var all []string
	for id, err := range s.All(ctx) {
		must(t, err)
		all = append(all, id)
	}
	slices.Sort(all)
	slices.Sort(want)
	if diff := cmp.Diff(want, all, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("All (-want +got)\n%s", diff)
	}
	n, err := s.Count(ctx)
	size, sizeErr := s.Size(ctx)
	if err != nil || sizeErr != nil || n != len(want) || size != len(want) {
		t.Errorf("Count %d, %v and Size %d, %v; want %d", n, err, size, sizeErr, len(want))
	}
	for _, id := range want {
		if in, err := s.Contains(ctx, id); err != nil || !in {
			t.Errorf("Contains %q: %v, %v", id, in, err)
		}
	}
}

func TestSet_HoldsWhatWasAddedAndNotRemovedOnce(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		fans := newSets(closing(t, open(t, s)), "fans").Of("ella")
		wantMembers(t, ctx, fans)
		must(t, fans.Add(ctx, "ann", "bob", "ann"))
		must(t, fans.Add(ctx, "ann"))
		must(t, fans.Remove(ctx, "nobody"))
		wantMembers(t, ctx, fans, "ann", "bob")
		must(t, fans.Remove(ctx, "ann"))
		must(t, fans.Remove(ctx, "ann"))
		wantMembers(t, ctx, fans, "bob")
		must(t, fans.Add(ctx))
		if in, err := fans.Contains(ctx, "ann"); err != nil || in {
			t.Errorf("Contains: %v, %v; want false", in, err)
		}
	})
}

// The last change of a process wins, even within one microsecond and while earlier
// changes are still being folded.
func TestSet_TheLastChangeWinsEvenWhereChangesOutrunFolding(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		sets := newSets(closing(t, open(t, s)), "fans")
		*sets.Limits() = tinyLimits
		fans := sets.Of("ella")
		const seed = 4
		rng := rand.New(rand.NewPCG(seed, 0))
		in := map[string]bool{}
		for i := range 2000 {
			id := fmt.Sprint("fan", rng.IntN(10))
			if in[id] = rng.IntN(2) == 0; in[id] {
				must(t, fans.Add(ctx, id))
			} else {
				must(t, fans.Remove(ctx, id))
			}
			if got, err := fans.Contains(ctx, id); err != nil || got != in[id] {
				t.Fatalf("seed %d, after %d changes: Contains %s: %v, %v; want %v", seed, i+1, id, got, err, in[id])
			}
		}
		var want []string
		for id, in := range in {
			if in {
				want = append(want, id)
			}
		}
		wantMembers(t, ctx, fans, want...)
	})
}

func TestSet_Add_OfAThousandIDsCostsTheTripsOfAFew(t *testing.T) {
	eachKind(t, func(t *testing.T, _ context.Context, _ *memkv.Store, s kv.Store) {
		synctest.Test(t, func(t *testing.T) {
			db := open(t, s)
			fans, began := newSets(db, "fans").Of("ella"), time.Now()
			for round := range 5 {
				ids := make([]string, 1000)
				for i := range ids {
					ids[i] = fmt.Sprintf("fan-%d-%06d", round, i)
				}
				ctx, m := kv.Metered(t.Context())
				must(t, fans.Add(ctx, ids...))
				if got := m.Cost(); got.Trips > 30 {
					t.Errorf("round %d: %v", round, got)
				}
			}
			if took := time.Since(began); took > 100*time.Millisecond {
				t.Errorf("they waited %v for others", took)
			}
			if n, err := fans.Count(t.Context()); err != nil || n != 5000 {
				t.Errorf("Count: %d, %v", n, err)
			}
			must(t, db.Close(t.Context()))
		})
	})
}

func TestSet_Page_ShowsEveryIDOnceInBothDirections(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		fans := newSets(closing(t, open(t, s)), "fans").Of("ella")
		var want []string
		for i := range 250 {
			want = append(want, fmt.Sprintf("fan%03d", i))
		}
		must(t, fans.Add(ctx, want...))
		var onward, back []string
		var last string
		for cursor, first := "", true; first || cursor != ""; first = false {
			p, err := fans.Page(ctx, cursor, 40)
			must(t, err)
			onward = append(onward, p.IDs...)
			cursor, last = p.Next, p.Prev
		}
		sorted := slices.Sorted(slices.Values(onward))
		if diff := cmp.Diff(want, sorted); diff != "" {
			t.Errorf("onward (-want +got)\n%s", diff)
		}
		for cursor := last; cursor != ""; {
			p, err := fans.Page(ctx, cursor, 40)
			must(t, err)
			back = slices.Concat(p.IDs, back)
			cursor = p.Prev
		}
		if diff := cmp.Diff(onward[:240], back); diff != "" {
			t.Errorf("back from the last page (-want +got)\n%s", diff)
		}
		_, err := fans.Page(ctx, "hello", 40)
		wantError(t, err, kvmodel.ErrBadCursor)
		_, err = fans.Page(ctx, "", 0)
		wantError(t, err, kvmodel.ErrInvalid)
	})
}

func wantError(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %.200v, want %v", err, want)
	}
}

func TestSets_AnyBytesNameTheirOwnSetAndMember(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		db := closing(t, open(t, s))
		odd := []string{"", "a:b", "a%3Ab", "a%b", "a", "a b", "\x00\xff", "#0", "ä", "+a@1", "\n", strings.Repeat("x", kvmodel.MaxID)}
		for _, name := range []string{"fans", "fans:of", "fans%3Aof"} {
			sets := newSets(db, name)
			for i, value := range odd {
				must(t, sets.Of(value).Add(ctx, odd[i:]...))
			}
			for i, value := range odd {
				wantMembers(t, ctx, sets.Of(value), slices.Clone(odd[i:])...)
			}
		}
	})
}

func TestSet_WhatIsTooLongIsRefusedAndChangesNothing(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		sets := newSets(closing(t, open(t, s)), "fans")
		must(t, sets.Of("ella").Add(ctx, "ann"))
		for _, size := range []int{kvmodel.MaxID + 1, 1 << 20} {
			wantError(t, sets.Of("ella").Add(ctx, strings.Repeat("x", size)), kv.ErrTooLarge)
			wantError(t, sets.Of("ella").Remove(ctx, strings.Repeat("x", size)), kv.ErrTooLarge)
		}
		// A value may be that long: its key has the hash.
		must(t, sets.Of(strings.Repeat("x", 1<<20)).Add(ctx, "bob"))
		wantMembers(t, ctx, sets.Of(strings.Repeat("x", 1<<20)), "bob")
		wantMembers(t, ctx, sets.Of("ella"), "ann")
	})
}

func TestSet_ACorruptSegmentIsAnErrorThatNamesItsKeyAndLosesNothing(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
		fans := newSets(closing(t, open(t, s)), "fans").Of("ella")
		must(t, fans.Add(ctx, "ann", "bob"))
		const key = "s:fans:ella#0"
		r, err := kv.One(ctx, mem, kv.OpGet(key))
		must(t, err)
		_, err = kv.One(ctx, mem, kv.OpSet(key, r.Value[:len(r.Value)-1]))
		must(t, err)
		for what, read := range map[string]func() error{
			"All":      func() error { return firstOf(fans.All(ctx)) },
			"Contains": func() error { _, err := fans.Contains(ctx, "ann"); return err },
			"Count":    func() error { _, err := fans.Count(ctx); return err },
			"Page":     func() error { _, err := fans.Page(ctx, "", 10); return err },
			"Size":     func() error { _, err := fans.Size(ctx); return err },
		} {
			if err := read(); !errors.Is(err, kvmodel.ErrCorrupt) || !strings.Contains(err.Error(), key) {
				t.Errorf("%s: got %v, want an ErrCorrupt that names %s", what, err, key)
			}
		}
		_, err = kv.One(ctx, mem, kv.OpSet(key, r.Value))
		must(t, err)
		wantMembers(t, ctx, fans, "ann", "bob")
	})
}

func firstOf[K any](all func(func(K, error) bool)) (first error) {
	all(func(_ K, err error) bool { first = err; return false })
	return first
}

func TestSet_ALossIsReportedUntilItIsAccepted(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	db := closing(t, open(t, server{mem}))
	sets := newSets(db, "fans")
	*sets.Limits() = tinyLimits
	fans := sets.Of("ella")
	for i := range 50 {
		must(t, fans.Add(ctx, fmt.Sprint("fan", i)))
		_, err := fans.Count(ctx) // A reader has the list tended.
		must(t, errors.Join(err, db.Flush(ctx)))
	}
	for _, key := range mem.Keys() {
		if strings.HasPrefix(key, "s:fans:ella#") && key != "s:fans:ella#0" {
			mem.Evict(key)
			break
		}
	}
	_, err := fans.Count(ctx)
	wantError(t, err, kvmodel.ErrNeedsRebuild)
	wantError(t, firstOf(fans.All(ctx)), kvmodel.ErrNeedsRebuild)
	must(t, fans.Add(ctx, "new")) // Writers go on.
	must(t, fans.Accept(ctx))
	if n, err := fans.Count(ctx); err != nil || n < 1 || n > 50 {
		t.Errorf("%d members are left, %v", n, err)
	}
}
