package frame_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/kvmodel/codec"
)

func TestOpen_ReturnsWhatWholeWasGiven(t *testing.T) {
	for _, body := range []string{"", "a", "what is stored"} {
		got, err := frame.Open(frame.Whole([]byte(body)))
		if diff := cmp.Diff(body, string(got)); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got)\n%s", body, err, diff)
		}
	}
}

func TestOpen_OfAnyFlippedBitIsCorrupt(t *testing.T) {
	value := frame.Whole([]byte("what is stored"))
	for at := range 8 * len(value) {
		data := bytes.Clone(value)
		data[at/8] ^= 1 << (at % 8)
		if _, err := frame.Open(data); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("bit %d: got %v, want an ErrCorrupt", at, err)
		}
	}
}

func TestOpen_OfAnyPrefixIsCorrupt(t *testing.T) {
	value := frame.Whole([]byte("what is stored"))
	for n := range len(value) {
		if _, err := frame.Open(value[:n]); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%d bytes: got %v, want an ErrCorrupt", n, err)
		}
	}
}
