package codec_test

import (
	"errors"
	"math"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/codec/internal/sample"
	"github.com/ringtree/ringtree/kvmodel/codec/internal/sample/geo"
)

var must = proof.Must

var exact = cmp.Options{
	cmp.AllowUnexported(sample.Kitchen{}, geo.Point{}, geo.Region{}),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b time.Time) bool { return a == b }),
	cmp.Comparer(func(a, b sample.Raised) bool { return a == b }),
	cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }),
}

func ptr[T any](v T) *T { return &v }

func newKitchen() *sample.Kitchen {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	home := sample.Address{Street: "Ring Road", Zip: ptr(""), At: geo.Point{Lat: 1.5, Lng: -2.25, Label: "home"}}
	return &sample.Kitchen{
		Base: sample.Base{ID: "kitchen", Created: at}, Extra: &sample.Extra{Note: "extra"}, Stamp: -9,
		Bool: true, Int: math.MinInt, Int8: math.MinInt8, Int16: math.MinInt16, Int32: math.MinInt32, Int64: math.MaxInt64,
		Uint: math.MaxUint, Uint8: math.MaxUint8, Uint16: math.MaxUint16, Uint32: math.MaxUint32, Uint64: math.MaxUint64,
		Float32: math.MaxFloat32, Float64: math.Inf(-1), String: "tëxt \x00\xff", Bytes: []byte{0, 255}, Time: at, For: -time.Hour,
		Color: "red", Level: -3, Ratio: 0.1, Flag: true, Digest: sample.Digest{1}, Words: sample.Words{"a", "b"}, Raised: sample.Raised(at),
		Pointer: ptr(7), Struct: &home, Pointers: []*sample.Address{nil, &home}, Slice: []string{"", "x"}, Slices: [][]int{nil, {}, {1}},
		Array: [3]int16{1, -2, 3}, Sum: [4]byte{9, 8, 7, 6}, Grid: sample.Grid{{1, 2}, {3, -4}},
		ByName: map[string]int{"b": 2, "a": 1}, ByNumber: map[int64]string{-1: "x", 300: "y"},
		ByLevel: map[sample.Level][]sample.Address{-1: {home}, 2: nil}, ByColor: map[sample.Color]map[uint8]bool{"red": {255: true}, "": nil},
		Set: map[string]struct{}{"in": {}}, Nested: home, Inline: struct{ A, B int }{1, 2},
		Point: geo.Point{Lat: 3}, Region: geo.NewRegion("north", [2]geo.Point{{Lat: 1}, {Lng: 2}}), Points: map[string]geo.Point{"p": {Label: "l"}},
		Number: sample.Box[int]{Value: 1, More: []int{2}}, Boxes: []sample.Box[geo.Point]{{Value: geo.Point{Lat: 9}, More: []geo.Point{}}},
		Tree:    sample.Tree{Name: "root", Kids: []sample.Tree{{Name: "kid", Next: &sample.Tree{Name: "next"}}}},
		Forest:  sample.Forest{"oak": {"ant": nil, "bee": {}}},
		Comment: newPage(),
		Addr:    netip.MustParseAddr("192.0.2.1"), Addrs: []netip.Addr{{}, netip.MustParseAddr("2001:db8::1%eth0")},
		URL: url.URL{Scheme: "https", Host: "example.com", Path: "/p"}, Link: &url.URL{Path: "/q"},
		Hex: sample.Hex{0xca, 0xfe}, Version: sample.Version{Major: 1, Minor: 300}, Packed: sample.Packed{N: 9}, Raw: msgpack.RawMessage{0x92, 1, 2},
		Renamed: "renamed",
	}
}

func TestModel_Unmarshal_GivesBackEveryKindOfField(t *testing.T) {
	for name, want := range map[string]*sample.Kitchen{
		"full":  newKitchen(),
		"zero":  {},
		"empty": emptyKitchen(),
	} {
		t.Run(name, func(t *testing.T) {
			data, err := sample.Kitchens().Marshal(want)
			must(t, err)
			var got sample.Kitchen
			unknown, err := sample.Kitchens().Unmarshal(data, &got)
			if unknown || err != nil {
				t.Fatalf("want nothing unknown and no error, got %v, %v", unknown, err)
			}
			proof.NoDiff(t, cmp.Diff(want, &got, exact), "kitchen")
		})
	}
}

// emptyKitchen returns a Kitchen whose slices, maps and pointers are empty but not
// nil.
func emptyKitchen() *sample.Kitchen {
	return &sample.Kitchen{
		Extra: &sample.Extra{}, Bytes: []byte{}, Digest: sample.Digest{}, Words: sample.Words{},
		Pointer: ptr(0), Struct: &sample.Address{Zip: ptr("")}, Pointers: []*sample.Address{}, Slice: []string{}, Slices: [][]int{},
		ByName: map[string]int{}, ByNumber: map[int64]string{}, ByLevel: map[sample.Level][]sample.Address{},
		ByColor: map[sample.Color]map[uint8]bool{}, Set: map[string]struct{}{}, Points: map[string]geo.Point{},
		Number: sample.Box[int]{More: []int{}}, Boxes: []sample.Box[geo.Point]{}, Tree: sample.Tree{Kids: []sample.Tree{}},
		Forest: sample.Forest{}, Comment: &sample.Page{Tags: []string{}}, Addrs: []netip.Addr{}, Link: &url.URL{}, Hex: sample.Hex{},
	}
}

func TestKitchen_MsgpackV5_WritesAndReadsTheStoredForm(t *testing.T) {
	want := newKitchen()
	stored, err := sample.Kitchens().Marshal(want)
	must(t, err)
	plain, err := msgpack.Marshal(want)
	must(t, err)
	proof.NoDiff(t, cmp.Diff(stored, plain), "bytes mismatch (-codec +msgpack)")
	var got sample.Kitchen
	must(t, msgpack.Unmarshal(plain, &got))
	proof.NoDiff(t, cmp.Diff(want, &got, exact), "kitchen")
}

func TestModel_Marshal_FieldsLeftOutAreNotStored(t *testing.T) {
	kitchen := &sample.Kitchen{Left: "left", Out: "out", Point: geo.Point{}.Checked()}
	kitchen.SetPrivate("private")
	got, err := sample.Kitchens().Marshal(kitchen)
	must(t, err)
	want, err := sample.Kitchens().Marshal(&sample.Kitchen{})
	must(t, err)
	proof.NoDiff(t, cmp.Diff(want, got), "bytes mismatch (-without +with)")
}

func TestModel_Unmarshal_FieldsLeftOutStayAsTheyAre(t *testing.T) {
	data, err := sample.Kitchens().Marshal(&sample.Kitchen{})
	must(t, err)
	got := sample.Kitchen{Out: "out"}
	proof.Done(t)(sample.Kitchens().Unmarshal(data, &got))
	proof.Equal(t, got.Out, "out", "out")
}

func TestModel_Unmarshal_TimesAreUTCWithoutClockReading(t *testing.T) {
	local := time.Now().In(time.FixedZone("east", 3600))
	data, err := sample.Pages().Marshal(&sample.Page{UpdatedAt: local})
	must(t, err)
	var got sample.Page
	proof.Done(t)(sample.Pages().Unmarshal(data, &got))
	if want := local.Round(0).UTC(); got.UpdatedAt != want {
		t.Errorf("want %v, got %v", want, got.UpdatedAt)
	}
}

func TestModel_Unmarshal_SharesNoMemoryWithTheInput(t *testing.T) {
	want := newKitchen()
	data, err := sample.Kitchens().Marshal(want)
	must(t, err)
	var got sample.Kitchen
	proof.Done(t)(sample.Kitchens().Unmarshal(data, &got))
	clear(data)
	proof.NoDiff(t, cmp.Diff(want, &got, exact), "kitchen after the input was overwritten")
}

func TestModel_Append_KeepsWhatIsThere(t *testing.T) {
	page := newPage()
	got, err := sample.Pages().Append([]byte("before"), page)
	must(t, err)
	proof.NoDiff(t, cmp.Diff("before"+string(marshalPage(t, page)), string(got)), "bytes")
}

func TestModel_Append_WhatCannotBeStoredIsAnErrorAndWritesNothing(t *testing.T) {
	loop := &sample.Kitchen{}
	loop.Tree.Next = &loop.Tree
	for name, test := range map[string]struct {
		kitchen *sample.Kitchen
		want    string
	}{
		"contains itself": {loop, "value cannot be stored: at field Next: nested deeper than 256, or contains itself"},
		"own encoder":     {&sample.Kitchen{Version: sample.Version{Major: -1}}, "value cannot be stored: at field Version: negative version"},
		"two values":      {&sample.Kitchen{Raw: msgpack.RawMessage{1, 2}}, "value cannot be stored: at field Raw: its own encoder did not write exactly one msgpack value"},
		"half a value":    {&sample.Kitchen{Raw: msgpack.RawMessage{0x92, 2}}, "value cannot be stored: at field Raw: its own encoder did not write exactly one msgpack value"},
		"nothing but nil": {&sample.Kitchen{Slices: make([][]int, 100_000)}, "value cannot be stored: its slices, maps and pointers take 2400000 bytes, over the 1309386 that 100722 stored bytes may take"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sample.Kitchens().Append([]byte("before"), test.kitchen)
			if !errors.Is(err, codec.ErrNotStorable) || err.Error() != test.want {
				t.Errorf("want %s\ngot  %v", test.want, err)
			}
			if string(got) != "before" {
				t.Errorf("want the bytes as they were, got %q", got)
			}
			proof.Ends(t, codec.ErrNotStorable)(sample.Kitchens().Marshal(test.kitchen))
		})
	}
}

func TestModel_NilIsStoredAsNil(t *testing.T) {
	data, err := sample.Pages().Marshal(nil)
	proof.Is(t, err, nil)
	proof.NoDiff(t, cmp.Diff([]byte{0xc0}, data), "mismatch")
	got := newPage()
	proof.Done(t)(sample.Pages().Unmarshal(data, got))
	proof.NoDiff(t, cmp.Diff(&sample.Page{}, got), "page")
}
