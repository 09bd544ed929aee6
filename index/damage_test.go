package index_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func flip(ctx context.Context, t *testing.T, s kv.Store, key string, bit int) {
	t.Helper()
	r, err := kv.One(ctx, s, kv.OpGet(key))
	must(t, err)
	r.Value[bit/8%len(r.Value)] ^= 1 << (bit % 8)
	proof.Done(t)(kv.One(ctx, s, kv.OpSet(key, r.Value)))
}

func wantCorrupt(t *testing.T, what string, err error, key string) {
	t.Helper()
	var damaged *kvmodel.CorruptError
	if !errors.As(err, &damaged) || !errors.Is(err, kvmodel.ErrCorrupt) {
		t.Errorf("%s: %v, want an ErrCorrupt", what, err)
		return
	}
	proof.NoDiff(t, cmp.Diff([]string{key}, damaged.Keys), "%s: the damaged keys", what)
}

func TestUnique_ADamagedClaimGivesItsValueToNoOneElse(t *testing.T) {
	ctx := t.Context()
	const key = "u:Voucher:ByCode:c"
	setup := func(t *testing.T) (*vouchers, kv.Store) {
		mem := memkv.New(memkv.Options{})
		v := newVouchers(closing(t, open(t, mem)))
		must(t, v.Create(ctx, &voucher{ID: "x", Code: "c"}))
		must(t, v.db.Flush(ctx))
		flip(ctx, t, mem, key, 8*9)
		return newVouchers(closing(t, open(t, shared{mem}))), mem
	}
	t.Run("until a rebuild", func(t *testing.T) {
		v, _ := setup(t)
		_, err := v.ByCode.Find(ctx, "c")
		wantCorrupt(t, "Find", err, key)
		wantCorrupt(t, "Create", v.Create(ctx, &voucher{ID: "y", Code: "c"}), key)
		proof.Done(t)(v.Update(ctx, "x", func(v *voucher) error { v.N++; return nil }))
		must(t, v.Rebuild(ctx))
		wantHeld(ctx, t, v, "x", "c")
	})
	t.Run("and its record can be deleted", func(t *testing.T) {
		v, s := setup(t)
		must(t, v.Delete(ctx, "x"))
		must(t, v.db.Flush(ctx))
		wantCorrupt(t, "Create", v.Create(ctx, &voucher{ID: "y", Code: "c"}), key)
		proof.Done(t)(kv.One(ctx, s, kv.OpDelete(key)))
		must(t, v.Create(ctx, &voucher{ID: "y", Code: "c"}))
	})
}

func TestHost_AnIDThatIsNoRecordsIsDamageOfAnEntry(t *testing.T) {
	ctx := t.Context()
	v := newVouchers(closing(t, open(t, memkv.New(memkv.Options{}))))
	must(t, v.Create(ctx, &voucher{ID: "x", Code: "c"}))
	for _, ids := range [][]string{{"x", "a\x01b"}, {"a\x01b", "x"}, {"a\x01b"}} {
		recs, err := v.ByCode.Host().See(ctx, v.db.Store(), ids...)
		wantCorrupt(t, fmt.Sprintf("%q", ids), err, "r:Voucher:a\x01b")
		if errors.Is(err, kv.ErrBadKey) || len(recs) != len(ids) {
			t.Errorf("%q: %d records, %v", ids, len(recs), err)
		}
		for i, rec := range recs {
			if rec.ID != ids[i] || (rec.Value != nil) != (ids[i] == "x") {
				t.Errorf("%q: the one at %d is %+v", ids, i, rec)
			}
		}
	}
}

func keysUnder(t *testing.T, mem *memkv.Store, begin string) (all []string) {
	t.Helper()
	must(t, kv.PowersOf(mem).Keys(t.Context(), begin, func(some []string) error {
		all = append(all, some...)
		return nil
	}))
	return all
}

// No remaining record leads to some of the lost segments.
func TestLists_OneRebuildMakesUpForAllThatIsLost(t *testing.T) {
	ctx := t.Context()
	mem := memkv.New(memkv.Options{})
	b := openSweep(mem)
	closing(t, b.db)
	for i := range 60 {
		must(t, b.Create(ctx, &book{ID: fmt.Sprint("b", i), Author: "ann"}))
		must(t, b.db.Flush(ctx))
	}
	segments := keysUnder(t, mem, "l:Book:ByAuthor:ann#")
	if len(segments) < 4 {
		t.Fatalf("a list of %d segments", len(segments))
	}
	records := keysUnder(t, mem, "r:Book:")
	for _, left := range []int{60, 1} {
		mem.Evict(append(segments, records[left:]...)...)
		must(t, b.Rebuild(ctx))
		n, err := b.ByAuthor.Of("ann").Count(ctx)
		if err != nil || n != left {
			t.Errorf("the list has %d members, %v; want %d", n, err, left)
		}
		segments = keysUnder(t, mem, "l:Book:ByAuthor:ann#")
	}
}

// No record leads a rebuild to a list whose records are lost too.
func TestLists_OfNoRecordAreWholeAfterAmendAndARebuild(t *testing.T) {
	ctx := t.Context()
	mem := memkv.New(memkv.Options{})
	b := openSweep(shared{mem})
	closing(t, b.db)
	must(t, b.Create(ctx, &book{ID: "bob's", Author: "bob"}))
	for i := range 60 {
		must(t, b.Create(ctx, &book{ID: fmt.Sprint("b", i), Author: "ann"}))
		must(t, b.db.Flush(ctx))
	}
	mem.Evict(append(keysUnder(t, mem, "l:Book:ByAuthor:ann#"), keysUnder(t, mem, "r:Book:b")...)...)
	const base = "l:Book:ByAuthor:ann"
	audit := func() string {
		other := openSweep(shared{mem})
		closing(t, other.db)
		wrong, err := other.ByAuthor.Window().Audit(ctx, kv.ReadOnly(mem, kv.ErrReadOnly), base, "ann")
		must(t, err)
		return fmt.Sprint(wrong)
	}
	proof.Contains(t, audit(), "lost")
	wantError(t, b.ByAuthor.Window().Amend(ctx, mem, base, "ann"), kvmodel.ErrNeedsRebuild)
	must(t, b.Rebuild(ctx))
	proof.Equal(t, audit(), "[]", "after a rebuild")
}
