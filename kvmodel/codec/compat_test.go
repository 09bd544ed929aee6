package codec_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/ringtree/ringtree/kvmodel/codec/internal/sample"
)

// reflectedKitchen is a Kitchen without methods, so msgpack v5 uses reflection.
type reflectedKitchen sample.Kitchen

func TestModel_Unmarshal_ReadsWhatReflectionWrites(t *testing.T) {
	want := newKitchen()
	want.Extra, want.Raised = nil, sample.Raised{} // Reflection inlines the first and cannot see into the second.
	data, err := msgpack.Marshal((*reflectedKitchen)(want))
	must(t, err)
	data = bytes.Replace(data, []byte("\xa6Raised\x80"), []byte("\xa6Raised\xc0"), 1)
	got, _ := unmarshal(t, sample.Kitchens(), data)
	if diff := cmp.Diff(want, got, exact); diff != "" {
		t.Errorf("kitchen mismatch (-want +got)\n%s", diff)
	}
}

func TestReflection_ReadsWhatModelMarshals(t *testing.T) {
	want := newPage()
	data := marshalPage(t, want)
	var got reflectedPage
	must(t, msgpack.Unmarshal(data, &got))
	got.CreatedAt, got.UpdatedAt = got.CreatedAt.UTC(), got.UpdatedAt.UTC()
	if diff := cmp.Diff(want, (*sample.Page)(&got), exact); diff != "" {
		t.Errorf("page mismatch (-want +got)\n%s", diff)
	}

	note := newNote()
	var gotNote reflectedNote
	must(t, msgpack.Unmarshal(marshal(t, sample.NewNotes(), note), &gotNote))
	if diff := cmp.Diff(note, (*sample.NewNote)(&gotNote), exact); diff != "" {
		t.Errorf("note mismatch (-want +got)\n%s", diff)
	}
}

// reflectedNote is a NewNote without methods.
type reflectedNote sample.NewNote
