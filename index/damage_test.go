package index_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// flip changes a bit of what is stored under key.
func flip(ctx context.Context, t *testing.T, s kv.Store, key string, bit int) {
	t.Helper()
	r, err := kv.One(ctx, s, kv.OpGet(key))
	must(t, err)
	r.Value[bit/8%len(r.Value)] ^= 1 << (bit % 8)
	_, err = kv.One(ctx, s, kv.OpSet(key, r.Value))
	must(t, err)
}

// wantCorrupt asserts that err says that what stands under key is damaged.
func wantCorrupt(t *testing.T, what string, err error, key string) {
	t.Helper()
	var damaged *kvmodel.CorruptError
	if !errors.As(err, &damaged) || !errors.Is(err, kvmodel.ErrCorrupt) {
		t.Errorf("%s: %v, want an ErrCorrupt", what, err)
		return
	}
	if diff := cmp.Diff([]string{key}, damaged.Keys); diff != "" {
		t.Errorf("%s: the damaged keys (-want +got)\n%s", what, diff)
	}
}

func TestSequence_AnyBitThatFlipsCostsOneValue(t *testing.T) {
	ctx := t.Context()
	for bit := range 8 * (8 + len(`"line 3"`)) {
		mem := memkv.New(memkv.Options{})
		s := index.NewSequence(closing(t, open(t, mem)), "lines", kvmodel.Codec[string](asJSON[string]{}))
		for i := range 5 {
			text := fmt.Sprint("line ", i+1)
			_, err := s.Add(ctx, &text)
			must(t, err)
		}
		flip(ctx, t, mem, "q:lines:3", bit)
		_, err := s.Get(ctx, 3)
		wantCorrupt(t, "Get", err, "q:lines:3")
		whole, err := s.Page(ctx, "", 5)
		wantCorrupt(t, "Page", err, "q:lines:3")
		ranged, err := numbers(ctx, s)
		wantCorrupt(t, "Range", err, "q:lines:3")
		if diff := cmp.Diff([]int64{1, 2, 4, 5}, ranged); diff != "" || len(whole.Items) != 4 {
			t.Errorf("a page of %d values, and in a range (-want +got)\n%s", len(whole.Items), diff)
		}
		must(t, s.Accept(ctx))
		ranged, err = numbers(ctx, s)
		if diff := cmp.Diff([]int64{1, 2, 4, 5}, ranged); diff != "" || err != nil {
			t.Errorf("after Accept: %v (-want +got)\n%s", err, diff)
		}
		if t.Failed() {
			t.Fatalf("with the bit %d flipped", bit)
		}
	}
}

// numbers returns those of the values that s has among the first five.
func numbers(ctx context.Context, s *index.Sequence[string]) (found []int64, damage error) {
	for v, err := range s.Range(ctx, 1, 5) {
		if err != nil {
			damage = errors.Join(damage, err)
			continue
		}
		found = append(found, v.N)
	}
	return found, damage
}

func TestSequence_AHintThatIsNoNumberIsNotAsked(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	s := index.NewSequence(closing(t, open(t, mem)), "lines", kvmodel.Codec[string](asJSON[string]{}))
	for i := range 20 {
		text := fmt.Sprint("line ", i+1)
		_, err := s.Add(ctx, &text)
		must(t, err)
	}
	flip(ctx, t, mem, "qh:lines", 6)
	fresh := index.NewSequence(closing(t, open(t, mem)), "lines", kvmodel.Codec[string](asJSON[string]{}))
	if n, err := fresh.Count(ctx); n != 20 || err != nil {
		t.Errorf("%d values, %v; want 20", n, err)
	}
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
		_, err = v.Update(ctx, "x", func(v *voucher) error { v.N++; return nil })
		must(t, err)
		must(t, v.Rebuild(ctx))
		wantHeld(ctx, t, v, "x", "c")
	})
	t.Run("and its record can be deleted", func(t *testing.T) {
		v, s := setup(t)
		must(t, v.Delete(ctx, "x"))
		must(t, v.db.Flush(ctx))
		wantCorrupt(t, "Create", v.Create(ctx, &voucher{ID: "y", Code: "c"}), key)
		_, err := kv.One(ctx, s, kv.OpDelete(key))
		must(t, err)
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
