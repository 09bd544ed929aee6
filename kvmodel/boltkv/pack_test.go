package boltkv

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

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
