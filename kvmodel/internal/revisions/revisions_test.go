package revisions

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/kvmodel/codec"
)

// entries returns n entries, each after the one before.
func entries(n int) (log Log) {
	for i := range n {
		log = append(log, Entry{
			Of: envelope.Try{Rev: uint64(300 + i), Nonce: uint64(7 + i)}, Prev: envelope.Try{Rev: uint64(299 + i), Nonce: uint64(6 + i)},
			Number: int64(i + 1), At: time.UnixMilli(1e12).UTC(), Model: 1, Kept: true, Body: bytes.Repeat([]byte{byte('a' + i)}, 40),
		})
	}
	return log
}

func (log Log) encode() (data []byte) {
	for _, e := range log {
		data = e.Encode(data)
	}
	return data
}

func TestLog_AnyFlippedBitCostsOneEntryAndIsNamed(t *testing.T) {
	want := entries(3)
	for at := 0; at < 8*len(want.encode()); at += 3 {
		data := want.encode()
		data[at/8] ^= 1 << (at % 8)
		got, err := Decode(data)
		others := slices.DeleteFunc(slices.Clone(want), func(e Entry) bool {
			return !slices.ContainsFunc(got, func(g Entry) bool { return cmp.Equal(e, g) })
		})
		if len(others) != len(want)-1 || len(got) != len(others) || !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("byte %d bit %d: %d entries of %d, of which %d are right, %v", at/8, at%8, len(got), len(want), len(others), err)
		}
	}
}

func TestLog_TheOthersOfADamagedEntryAreRead(t *testing.T) {
	all := entries(3)
	data := all.encode()
	begin := len(all[:1].encode())
	for i := range 20 {
		data[begin+i] ^= 0x5a
	}
	got, err := Decode(data)
	if diff := cmp.Diff(Log{all[0], all[2]}, got); diff != "" || !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}
