package codec_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/codec/internal/sample"
)

// FuzzUnmarshal checks that any bytes are read, or are an error that wraps
// ErrCorrupt; that memory is bounded; that a stream reads them the same way; and
// that what was read stores and reads back as the same.
func FuzzUnmarshal(f *testing.F) {
	for _, test := range hostile {
		f.Add(unhex(f, test.hex))
	}
	for _, kitchen := range []*sample.Kitchen{{}, emptyKitchen(), newKitchen()} {
		data, err := sample.Kitchens().Marshal(kitchen)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		assertMemoryBound(t, data)
		var first sample.Kitchen
		if _, err := sample.Kitchens().Unmarshal(data, &first); err != nil {
			if !errors.Is(err, codec.ErrCorrupt) {
				t.Fatalf("want ErrCorrupt, got %v", err)
			}
			return
		}
		var streamed sample.Kitchen
		if err := streamed.DecodeMsgpack(msgpack.NewDecoder(bytes.NewReader(data))); err != nil {
			t.Fatalf("read from memory, but not from a stream: %v", err)
		}
		assertStable(t, &first)
	})
}

// assertStable stores kitchen, reads it, and stores it again: the bytes must be the
// same, even if it holds NaNs.
func assertStable(t *testing.T, kitchen *sample.Kitchen) {
	t.Helper()
	stored, err := sample.Kitchens().Marshal(kitchen)
	if errors.Is(err, codec.ErrNotStorable) {
		return // The longer input allowed it more memory.
	}
	must(t, err)
	var second sample.Kitchen
	unknown, err := sample.Kitchens().Unmarshal(stored, &second)
	if unknown || err != nil {
		t.Fatalf("what was stored reads with unknown %v, error %v", unknown, err)
	}
	again, err := sample.Kitchens().Marshal(&second)
	must(t, err)
	if !bytes.Equal(stored, again) {
		t.Errorf("stored twice, two forms:\n%x\n%x", stored, again)
	}
}

// FuzzMerge checks that any two values that read as notes read as the second one
// when merged.
func FuzzMerge(f *testing.F) {
	data, err := sample.NewNotes().Marshal(newNote())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, []byte{0x80})
	f.Add([]byte{0x81, 0xa1, 'x', 0x01}, data)
	f.Fuzz(func(t *testing.T, prev, next []byte) {
		var old, want, got sample.OldNote
		unknown, errOld := sample.OldNotes().Unmarshal(prev, &old)
		_, errNext := sample.OldNotes().Unmarshal(next, &want)
		if errOld != nil || errNext != nil || !unknown {
			return
		}
		next, err := sample.OldNotes().Marshal(&want)
		must(t, err)
		merged, err := sample.OldNotes().Merge(prev, next)
		must(t, err)
		proof.Done(t)(sample.OldNotes().Unmarshal(merged, &got))
		if !reflect.DeepEqual(want, got) {
			t.Errorf("merged reads as %+v, want %+v", got, want)
		}
	})
}
