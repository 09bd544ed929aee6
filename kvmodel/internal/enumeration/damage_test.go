package enumeration

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// all returns the ids of e, sorted, and what the walk has met.
func all(t *testing.T, e *Enumeration, s kv.Store) (ids []string, w Walked, err error) {
	t.Helper()
	h, err := e.look(t.Context(), s)
	must(t, err)
	if h.Damaged != nil {
		h, err = e.Found(t.Context(), s)
		must(t, err)
	}
	w, err = e.Each(t.Context(), s, h, nil, func(some []string) error { ids = append(ids, some...); return nil })
	slices.Sort(ids)
	return ids, w, err
}

func value(t *testing.T, s kv.Store, key string) []byte {
	t.Helper()
	got, err := kv.One(t.Context(), s, kv.OpGet(key))
	must(t, err)
	return got.Value
}

func set(t *testing.T, s kv.Store, key string, value []byte) {
	t.Helper()
	_, err := kv.One(t.Context(), s, kv.OpSet(key, value))
	must(t, err)
}

// without returns those of ids that are not among others.
func without(ids, others []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(others, id) })
}

func TestDamage_AnyFlippedBitOfAChunkIsNamed(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	e, h, _ := chunked(t, mem, 90)
	for n := h.low; n <= h.high; n++ {
		key := e.key(n)
		sound := value(t, mem, key)
		for at := 0; at < 8*len(sound); at += 31 {
			data := bytes.Clone(sound)
			data[at/8] ^= 1 << (at % 8)
			set(t, mem, key, data)
			if _, _, err := all(t, e, mem); !wire.IsCorrupt(err) || !strings.Contains(err.Error(), key) {
				t.Errorf("%s bit %d: got %v, want an ErrCorrupt that names it", key, at, err)
			}
		}
		set(t, mem, key, sound)
	}
}

func TestDamage_AnyOneBitOfTheHeadIsNamed(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	e, _, _ := chunked(t, mem, 90)
	sound := value(t, mem, e.HeadKey())
	for at := range 8 * len(sound) {
		data := bytes.Clone(sound)
		data[at/8] ^= 1 << (at % 8)
		h, err := e.ReadHead(kv.Result{Value: data, Version: 1})
		must(t, err)
		if !wire.IsCorrupt(h.Damaged) {
			t.Errorf("bit %d: the head is said to be damaged by %v, want an ErrCorrupt", at, h.Damaged)
		}
	}
}

func TestDamage_MoreThanABitInAChunkCostsItsIDsAndIsNamed(t *testing.T) {
	for name, at := range map[string]int{"nonce": 3, "time": 18, "sum": 27, "id": 45} {
		mem := memkv.New(memkv.Options{})
		e, h, ids := chunked(t, mem, 90)
		key := e.key(h.high / 2)
		c, err := e.readOne(t.Context(), mem, h.high/2)
		must(t, err)
		data := value(t, mem, key)
		data[at] ^= 0x11
		data[at+1] ^= 0x11
		set(t, mem, key, data)
		got, _, err := all(t, e, mem)
		if e := err.(*wire.CorruptError); !slices.Equal(e.Keys, []string{key}) {
			t.Errorf("%s: %v; want an ErrCorrupt that names %s", name, err, key)
		}
		if missing := without(without(ids, c.ids), got); len(missing) > 0 {
			t.Errorf("%s: %q are missing, which stand in other chunks", name, missing)
		}
		_, err = e.Accept(t.Context(), mem, "")
		must(t, err)
		must(t, e.Put(t.Context(), mem, []string{"later"}))
		after, _, err := all(t, e, mem)
		if missing := without(append(got, "later"), after); len(missing) > 0 || err != nil {
			t.Errorf("%s: once that is accepted: %v, and %q are missing", name, err, missing)
		}
	}
}

func TestDamage_AHeadIsMadeAgain(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	e, _, want := chunked(t, mem, 90)
	set(t, mem, e.HeadKey(), []byte("no head"))
	got, _, err := all(t, e, mem)
	if diff := cmp.Diff(want, got); diff != "" || !wire.IsCorrupt(err) {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	h, err := e.look(t.Context(), mem)
	must(t, err)
	must(t, e.Remake(t.Context(), mem, h, "birth"))
	must(t, e.Put(t.Context(), mem, []string{"later"}))
	if got, _, err := all(t, e, mem); len(got) != len(want)+1 || err != nil {
		t.Errorf("%d ids, %v; want %d", len(got), err, len(want)+1)
	}
}
