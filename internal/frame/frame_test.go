package frame_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/codec"
)

func TestOpen_ReturnsWhatWholeWasGiven(t *testing.T) {
	for _, body := range []string{"", "a", "what is stored"} {
		got, err := frame.Open(frame.Whole([]byte(body)))
		proof.Is(t, err, nil)
		proof.NoDiff(t, cmp.Diff(body, string(got)), "%q", body)
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

func frames(payloads ...string) (data []byte) {
	for _, p := range payloads {
		data = frame.Append(data, []byte(p))
	}
	return data
}

func read(data []byte) (payloads []string, damaged int) {
	for len(data) > 0 {
		payload, rest, err := frame.Next(data)
		if err != nil {
			damaged++
		} else {
			payloads = append(payloads, string(payload))
		}
		data = rest
	}
	return payloads, damaged
}

func TestNext_OfAnyFlippedBitTheOtherFramesAreRead(t *testing.T) {
	all := []string{"the first", "", "\xf5\x00 and more", string(bytes.Repeat([]byte("long"), 50)), "the last"}
	sound := frames(all...)
	for at := range 8 * len(sound) {
		data := bytes.Clone(sound)
		data[at/8] ^= 1 << (at % 8)
		got, damaged := read(data)
		hit := slices.IndexFunc(all, func(p string) bool { return !slices.Contains(got, p) })
		want := slices.Delete(slices.Clone(all), max(hit, 0), hit+1)
		if diff := cmp.Diff(want, got); hit < 0 || damaged != 1 || diff != "" {
			t.Errorf("bit %d: damaged %d times (-want +got)\n%s", at, damaged, diff)
		}
	}
}

func TestNext_OfACutFrameThoseBeforeItAreRead(t *testing.T) {
	sound := frames("one", "two")
	for n := len(frames("one")) + 1; n < len(sound); n++ {
		if got, damaged := read(sound[:n]); damaged != 1 || !slices.Equal(got, []string{"one"}) {
			t.Errorf("%d bytes: got %q, damaged %d times", n, got, damaged)
		}
	}
}
