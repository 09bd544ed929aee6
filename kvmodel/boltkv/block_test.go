package boltkv

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// newTree returns a function that changes the tree of a store with no log.
func newTree(t *testing.T) (s *Store, update func(func(*tree))) {
	t.Helper()
	s = openStill(t, filepath.Join(t.TempDir(), "store.db"), nil)
	return s, func(f func(*tree)) {
		t.Helper()
		must(s.update(f))
	}
}

// randomValue is like others of its kind, or random.
func randomValue(rng *rand.Rand) []byte {
	switch n := rng.IntN(40); {
	case n == 0:
		return bytes.Repeat([]byte("a long value, "), rng.IntN(2000))
	case n < 4:
		return Noise(rng.IntN(3000))
	case n < 10:
		return nil
	default:
		return fmt.Appendf(nil, "a record of %d with %d: %s", rng.IntN(10), rng.IntN(1000), strings.Repeat("text ", rng.IntN(20)))
	}
}

func TestTree_HoldsWhatWasSet(t *testing.T) {
	proof.Alone(t)
	for range proof.Size(5, 100) {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 0))
		s, update := newTree(t)
		want := make(map[string]string)
		keys := func(n int) (keys []string) {
			if at := rng.IntN(2000); rng.IntN(4) == 0 { // a run
				for i := range n {
					keys = append(keys, fmt.Sprintf("m%d:%06d", at%3, at+i))
				}
				return keys
			}
			for range n {
				keys = append(keys, fmt.Sprintf("m%d:%06d", rng.IntN(3), rng.IntN(3000)))
			}
			slices.Sort(keys)
			return keys
		}
		for range 60 {
			removes := rng.IntN(4) == 0
			update(func(tr *tree) {
				for _, key := range keys(1 << rng.IntN(10)) {
					if removes {
						tr.set([]byte(key), nil)
						delete(want, key)
						continue
					}
					value := randomValue(rng)
					tr.set([]byte(key), (&item{value: value, version: 7}).encode(key, nil))
					want[key] = string(value)
				}
			})
			got := make(map[string]string)
			if fail := s.view(func(tr *tree) {
				var r blockReader
				tr.eachBlock(nil, 1<<30, func(first, buf []byte) {
					for r.must(first, buf); r.next(); {
						it, ok := tr.find(r.fullKey())
						if it.damaged != nil || !ok {
							t.Fatalf("seed %d: %s: %+v, %v", seed, r.fullKey(), it, ok)
						}
						got[string(r.fullKey())] = string(it.value)
					}
				})
				for i := range 100 {
					key := fmt.Sprintf("m%d:%06d", i%3, rng.IntN(3000))
					if _, ok := tr.find([]byte(key)); ok {
						if _, ok := want[key]; !ok {
							t.Errorf("seed %d: %s is found", seed, key)
						}
					}
				}
			}); fail != nil {
				t.Fatal(fail)
			}
			if !maps.Equal(got, want) {
				t.Fatalf("seed %d: %d items, want %d", seed, len(got), len(want))
			}
			if st, err := s.stateNow(); err != nil || st.items != uint64(len(want)) {
				t.Fatalf("seed %d: it counts %d items, want %d (%v)", seed, st.items, len(want), err)
			}
		}
		update(func(tr *tree) {
			for key := range want {
				tr.set([]byte(key), nil)
			}
		})
		if fail := s.view(func(tr *tree) {
			proof.Equal(t, tr.items.Stats().KeyN, 0, "seed %d", seed)
		}); fail != nil {
			t.Fatal(fail)
		}
	}
}

// Some bits of a packed value have no meaning.
func TestBlock_FlippedBitNeverChangesAnItem(t *testing.T) {
	proof.Alone(t)
	s, update := newTree(t)
	want := make(map[string]string)
	update(func(tr *tree) {
		for i := range 6 {
			key := fmt.Sprintf("key:%06d", i)
			it := item{value: fmt.Appendf(nil, "a record of %s with its text", key), version: 7}
			if i%2 == 0 {
				it.expires = 1 << 62
			}
			tr.set([]byte(key), it.encode(key, nil))
			want[key] = string(it.value)
		}
	})
	var first, block []byte
	if fail := s.view(func(tr *tree) {
		first, block = tr.items.Cursor().First()
		first, block = bytes.Clone(first), bytes.Clone(block)
	}); fail != nil {
		t.Fatal(fail)
	}
	noticed := 0
	for i := range len(block) * 8 {
		flipped := bytes.Clone(block)
		flipped[i/8] ^= 1 << (i % 8)
		var r blockReader
		if !r.open(first, flipped) {
			noticed++
			continue
		}
		for r.next() {
			key := string(r.fullKey())
			if it := r.item([]byte(key)); it.damaged != nil {
				noticed++
			} else if string(it.value) != want[key] {
				t.Errorf("bit %d: %s holds %q", i, key, it.value)
			}
		}
	}
	if noticed < len(block)*7 {
		t.Errorf("of %d bits %d are noticed", len(block)*8, noticed)
	}
	var r blockReader
	if !r.open(first, block) || r.open([]byte("kez:000000"), block) {
		t.Error("a block is read under another key, or not under its own")
	}
}

// All items whose values were packed with a damaged one are damaged until they are written again.
func TestTree_ItemsPackedWithADamagedOneStayDamagedUntilTheyAreWritten(t *testing.T) {
	s, update := newTree(t)
	const n = 5
	key := func(i int) string { return fmt.Sprintf("key:%06d", i) }
	set := func(tr *tree, i int, text string) {
		it := item{value: fmt.Appendf(nil, "a long text that all of them have, but for its end: %s", text), version: 7}
		tr.set([]byte(key(i)), it.encode(key(i), nil))
	}
	wantDamaged := func(what string, want ...int) {
		t.Helper()
		var got []int
		if fail := s.view(func(tr *tree) {
			for i := range n {
				if it, ok := tr.find([]byte(key(i))); !ok || it.damaged != nil {
					got = append(got, i)
				}
			}
		}); fail != nil {
			t.Fatal(fail)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v are damaged, want %v", what, got, want)
		}
	}
	update(func(tr *tree) {
		for i := range n {
			set(tr, i, "old")
		}
		tr.flush()
		buf := bytes.Clone(tr.items.Get([]byte(key(0))))
		at := bytes.Index(buf, []byte("a long text"))
		buf[at] = 'A'
		must(tr.items.Put([]byte(key(0)), buf))
	})
	wantDamaged("a flipped bit", 0, 1, 2, 3, 4)
	update(func(tr *tree) { set(tr, 2, "new") })
	wantDamaged("another is written", 0, 1, 3, 4)
	update(func(tr *tree) { set(tr, 0, "new") })
	wantDamaged("the first is written", 1, 3, 4)
	update(func(tr *tree) { tr.set([]byte(key(0)), nil); tr.set([]byte(key(1)), nil); set(tr, 3, "new") })
	wantDamaged("others are removed", 0, 1, 4)
}

func TestItem_ReadsAsItWasAndEveryFlippedBitIsNoticed(t *testing.T) {
	for _, it := range []item{{version: 1 << 60, value: []byte("value")}, {version: 7, expires: 1 << 60}} {
		buf := it.encode("key", nil)
		if got := decode([]byte("key"), buf); got.damaged != nil || got.version != it.version || got.expires != it.expires || string(got.value) != string(it.value) {
			t.Errorf("got %+v, want %+v", got, it)
		}
		if got := decode([]byte("kez"), buf); got.damaged == nil {
			t.Errorf("%x is read under another key", buf)
		}
		for i := range len(buf) * 8 {
			flipped := bytes.Clone(buf)
			flipped[i/8] ^= 1 << (i % 8)
			if got := decode([]byte("key"), flipped); got.damaged == nil {
				t.Errorf("bit %d of %x flipped: %+v", i, buf, got)
			}
		}
		for n := range buf {
			if got := decode([]byte("key"), buf[:n]); got.damaged == nil {
				t.Errorf("the first %d bytes of %x: %+v", n, buf, got)
			}
		}
	}
}

func packed(key, value []byte) []byte { return new(packer).pack(nil, key, value) }

func TestPack_UnpacksToWhatItWas(t *testing.T) {
	proof.Alone(t)
	rng := rand.New(rand.NewPCG(1, 2))
	check := func(key, value []byte) {
		t.Helper()
		block := packed(key, value)
		if got, ok := unpack(nil, key, block, len(value)); !ok || !bytes.Equal(got, value) {
			t.Fatalf("%q under %q: packed %x, unpacked %q, %v", value, key, block, got, ok)
		}
	}
	for n := range 300 {
		check([]byte("key"), bytes.Repeat([]byte("x"), n))
		check([]byte(strings.Repeat("key", 20)), []byte(strings.Repeat("key", 20)+fmt.Sprint(n)))
	}
	for range 3000 {
		key, value := make([]byte, 1+rng.IntN(60)), make([]byte, rng.IntN(2000))
		for _, some := range [][]byte{key, value} {
			for i := range some {
				some[i] = byte(rng.IntN(2 + rng.IntN(3)))
			}
		}
		check(key, value)
	}
	large := make([]byte, 1<<20) // longer than a match may reach back
	for i := range large {
		large[i] = byte(rng.Uint32())
	}
	check([]byte("key"), slices.Concat(large[:200_000], large[:70_000], large[100_000:300_000]))
}

// The blocks are as package lz4 of Debian reads them, with the key as its dictionary.
func TestPack_WritesLZ4(t *testing.T) {
	for value, want := range map[string]string{
		"":                                 "\x00",
		"a short value":                    "\xd0a short value",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":   "\x1fa\x01\x00\x05\x50aaaaa",
		"record: its record, then the end": "\x04\x08\x00\x33its\x0c\x00\xe0, then the end",
	} {
		if got := packed([]byte("a record: "), []byte(value)); string(got) != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}

func TestUnpack_HostileBlocksAreRefused(t *testing.T) {
	proof.Alone(t)
	rng := rand.New(rand.NewPCG(3, 4))
	key, value := []byte("user:1234567890"), []byte(strings.Repeat("a list of user:1234567890, ", 20))
	block := packed(key, value)
	for range 200_000 {
		bad := bytes.Clone(block)
		for range 1 + rng.IntN(4) {
			bad[rng.IntN(len(bad))] = byte(rng.Uint32())
		}
		bad = bad[:rng.IntN(len(bad)+1)]
		if got, ok := unpack(nil, key, bad, len(value)); ok && len(got) != len(value) {
			t.Fatalf("%x: %d bytes", bad, len(got))
		}
	}
	for n := range block {
		if _, ok := unpack(nil, key, block[:n], len(value)); ok {
			t.Errorf("the first %d bytes of a block are accepted", n)
		}
	}
}
