package codec_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/codec/internal/sample"
	"github.com/ringtree/ringtree/kvmodel/codec/internal/sample/geo"
	"github.com/vmihailenco/msgpack/v5"
)

func newNote() *sample.NewNote {
	person := sample.NewPerson{Email: "a@example.com", Name: "A", Home: sample.Address{Street: "Ring Road", At: geo.Point{Label: "home"}}}
	return &sample.NewNote{
		ID: "note", Stars: 5, Author: person, Editor: &person,
		Lines: []sample.NewLine{{Text: "line", Mark: true}}, Fresh: "fresh",
		Extras: map[string][]int{"x": {1, 2}},
	}
}

func marshal[T any](t *testing.T, m *codec.Model[T], v *T) []byte {
	t.Helper()
	data, err := m.Marshal(v)
	must(t, err)
	return data
}

func unmarshal[T any](t *testing.T, m *codec.Model[T], data []byte) (v *T, unknown bool) {
	t.Helper()
	v = new(T)
	unknown, err := m.Unmarshal(data, v)
	must(t, err)
	return v, unknown
}

func TestModel_Unmarshal_NewReleaseReadsOldRecord(t *testing.T) {
	old := &sample.OldNote{
		ID: "note", Author: sample.OldPerson{Name: "A"}, Editor: &sample.OldPerson{Name: "E"},
		Lines: []sample.OldLine{{Text: "line"}}, Gone: 7, Old: "renamed",
	}
	got, unknown := unmarshal(t, sample.NewNotes(), marshal(t, sample.OldNotes(), old))
	want := &sample.NewNote{
		ID: "note", Author: sample.NewPerson{Name: "A"}, Editor: &sample.NewPerson{Name: "E"},
		Lines: []sample.NewLine{{Text: "line"}}, Fresh: "renamed",
	}
	proof.NoDiff(t, cmp.Diff(want, got, exact), "note")
	if !unknown {
		t.Errorf("want the removed field reported as unknown")
	}
}

func TestModel_Unmarshal_UnknownIsToldOnlyWhereMergeCanKeepIt(t *testing.T) {
	for name, test := range map[string]struct {
		hex  string
		want bool
	}{
		"none":       {"81 a24944a0", false},
		"top":        {"81 a178 00", true},
		"in struct":  {"81 a6417574686f72 81 a178 00", true},
		"in pointer": {"81 a6456469746f72 81 a178 00", true},
		"in slice":   {"81 a54c696e6573 91 81 a178 00", false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got := unmarshal(t, sample.OldNotes(), unhex(t, test.hex)); got != test.want {
				t.Errorf("want unknown %v, got %v", test.want, got)
			}
		})
	}
}

func TestModel_Merge_OldReleaseLosesNothingOfANewRecord(t *testing.T) {
	stored := marshal(t, sample.NewNotes(), newNote())
	old, unknown := unmarshal(t, sample.OldNotes(), stored)
	if !unknown {
		t.Fatal("want unknown fields reported")
	}
	old.ID, old.Author.Name, old.Gone = "changed", "B", 3
	merged, err := sample.OldNotes().Merge(stored, marshal(t, sample.OldNotes(), old))
	must(t, err)

	want := newNote()
	want.ID, want.Author.Name = "changed", "B"
	want.Lines[0].Mark = false // The documented limit: elements of slices keep only known fields.
	want.Fresh = "fresh"       // The new name follows the old one, and the later one wins.
	got, _ := unmarshal(t, sample.NewNotes(), merged)
	proof.NoDiff(t, cmp.Diff(want, got, exact), "note")
	again, unknown := unmarshal(t, sample.OldNotes(), merged)
	if diff := cmp.Diff(old, again); diff != "" || !unknown {
		t.Errorf("old note: unknown %v, mismatch (-want +got)\n%s", unknown, diff)
	}
}

func TestModel_Merge_UnknownPairsAreKeptByteForByteBehindTheirStruct(t *testing.T) {
	for name, test := range map[string]struct{ prev, next, want string }{
		"top":             {"82 a24944a0 a178 d30000000000000001", "81 a24944a161", "82 a24944a161 a178 d30000000000000001"},
		"wide name":       {"81 d90178 c0", "80", "81 d90178 c0"},
		"twice":           {"82 a178 01 a178 02", "80", "82 a178 01 a178 02"},
		"in struct":       {"81 a6417574686f72 81 a178 01", "81 a6417574686f72 81 a44e616d65a0", "81 a6417574686f72 82 a44e616d65a0 a178 01"},
		"in pointer":      {"81 a6456469746f72 81 a178 01", "81 a6456469746f72 80", "81 a6456469746f72 81 a178 01"},
		"pointer is gone": {"81 a6456469746f72 81 a178 01", "81 a6456469746f72 c0", "81 a6456469746f72 c0"},
		"pointer was nil": {"81 a6456469746f72 c0", "81 a6456469746f72 80", "81 a6456469746f72 80"},
		"slices are new":  {"81 a54c696e6573 91 81 a178 01", "81 a54c696e6573 90", "81 a54c696e6573 90"},
		"previous is nil": {"c0", "81 a24944a0", "81 a24944a0"},
		"over 15 fields":  {"8f a16100 a16200 a16300 a16400 a16500 a16600 a16700 a16800 a16900 a16a00 a16b00 a16c00 a16d00 a16e00 a16f00", "81 a24944a0", "de0010 a24944a0 a16100 a16200 a16300 a16400 a16500 a16600 a16700 a16800 a16900 a16a00 a16b00 a16c00 a16d00 a16e00 a16f00"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sample.OldNotes().Merge(unhex(t, test.prev), unhex(t, test.next))
			must(t, err)
			proof.NoDiff(t, cmp.Diff(unhex(t, test.want), got), "merged bytes")
		})
	}
}

func TestModel_Merge_HostileBytesAreCorrupt(t *testing.T) {
	for name, in := range map[string]string{
		"bomb": "df ffffffff", "cut": "81 a178", "name": "81 01 01", "trailing": "80 00", "nested": "81 a6417574686f72 81 a178",
	} {
		t.Run(name, func(t *testing.T) {
			proof.Ends(t, codec.ErrCorrupt)(sample.OldNotes().Merge(unhex(t, in), unhex(t, "80")))
			proof.Ends(t, codec.ErrCorrupt)(sample.OldNotes().Merge(unhex(t, "80"), unhex(t, in)))
		})
	}
}

// reflectedKitchen is a Kitchen without methods, so msgpack v5 uses reflection.
type reflectedKitchen sample.Kitchen

func TestModel_Unmarshal_ReadsWhatReflectionWrites(t *testing.T) {
	want := newKitchen()
	want.Extra, want.Raised = nil, sample.Raised{} // Reflection inlines the first and cannot see into the second.
	data, err := msgpack.Marshal((*reflectedKitchen)(want))
	must(t, err)
	data = bytes.Replace(data, []byte("\xa6Raised\x80"), []byte("\xa6Raised\xc0"), 1)
	got, _ := unmarshal(t, sample.Kitchens(), data)
	proof.NoDiff(t, cmp.Diff(want, got, exact), "kitchen")
}

func TestReflection_ReadsWhatModelMarshals(t *testing.T) {
	want := newPage()
	data := marshalPage(t, want)
	var got reflectedPage
	must(t, msgpack.Unmarshal(data, &got))
	got.CreatedAt, got.UpdatedAt = got.CreatedAt.UTC(), got.UpdatedAt.UTC()
	proof.NoDiff(t, cmp.Diff(want, (*sample.Page)(&got), exact), "page")

	note := newNote()
	var gotNote reflectedNote
	must(t, msgpack.Unmarshal(marshal(t, sample.NewNotes(), note), &gotNote))
	proof.NoDiff(t, cmp.Diff(note, (*sample.NewNote)(&gotNote), exact), "note")
}

// reflectedNote is a NewNote without methods.
type reflectedNote sample.NewNote
