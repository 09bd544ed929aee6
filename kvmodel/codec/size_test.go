package codec_test

import (
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/codec/internal/sample"
	"github.com/ringtree/ringtree/kvmodel/codec/internal/sample/geo"
)

func TestSize_IsAboutWhatACopyTakes(t *testing.T) {
	const many = 2000
	first, copies := newPantry(), make([]*sample.Pantry, many)
	before := liveBytes()
	for i := range copies {
		copies[i] = new(sample.Pantry)
		sample.Pantries().CopyTo(copies[i], first)
	}
	took := int(liveBytes()-before) / many
	if size := codec.Size(copies[0], true); size < took*2/3 || size > took*3/2 {
		t.Errorf("a copy takes %d bytes, Size says %d", took, size)
	}
	runtime.KeepAlive(copies)
}

func TestSize_CountsTextsThatAreNotShared(t *testing.T) {
	v := &struct{ Texts []string }{[]string{"four", "sixsix"}}
	proof.Equal(t, codec.Size(v, false)-codec.Size(v, true), len("foursixsix"), "texts take")
}

func liveBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func newPantry() *sample.Pantry {
	k := newKitchen()
	return &sample.Pantry{
		Base: k.Base, Extra: k.Extra, Bytes: k.Bytes, Time: k.Time, Level: k.Level, Digest: k.Digest, Words: k.Words,
		Pointer: k.Pointer, Struct: k.Struct, Pointers: k.Pointers, Slice: k.Slice, Slices: k.Slices, Array: k.Array, Rows: [2][]int{{1}, nil},
		Grid: k.Grid, ByName: k.ByName, ByLevel: k.ByLevel, ByColor: k.ByColor, Nested: k.Nested, Inline: struct{ A []int }{[]int{1}},
		Points: k.Points, Number: k.Number, Boxes: k.Boxes, Tree: k.Tree, Forest: k.Forest, Comment: k.Comment,
	}
}

func TestModel_CopyTo_NothingThatIsChangedInACopyReachesTheFirst(t *testing.T) {
	first, want := newPantry(), newPantry()
	got := new(sample.Pantry)
	sample.Pantries().CopyTo(got, first)
	same := cmp.AllowUnexported(sample.Pantry{}, geo.Point{})
	proof.NoDiff(t, cmp.Diff(want, got, same), "the copy is not the same")
	if changed := spoil(reflect.ValueOf(got).Elem()); changed < 60 {
		t.Fatalf("only %d values were changed", changed)
	}
	proof.NoDiff(t, cmp.Diff(want, first, same), "the first has changed with its copy")
}

func TestModel_Copies_NotWhatHasItsOwnWayToBeStored(t *testing.T) {
	if sample.Kitchens().Copies() {
		t.Error("a Kitchen has fields that nobody can copy")
	}
}

func spoil(v reflect.Value) (changed int) {
	if !v.CanSet() && v.Kind() != reflect.Map {
		return 0
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.SetZero()
			return 1
		}
		for i := range v.NumField() {
			changed += spoil(v.Field(i))
		}
		return changed
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		return spoil(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			changed += spoil(v.Index(i))
		}
		return changed
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			changed += 1 + spoil(value)
			v.SetMapIndex(key, reflect.Value{})
		}
		return changed
	case reflect.String:
		v.SetString("spoiled")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Float32, reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() ^ 1)
	default:
		v.SetUint(v.Uint() ^ 1)
	}
	return 1
}

// reflectedPage is a Page without methods, so msgpack v5 uses reflection.
type reflectedPage sample.Page

func newPage() *sample.Page {
	return &sample.Page{
		ID:        "01JA8Z5M3Q7W9X2C4V6B8N0KDR",
		Slug:      "a-page-about-rings-and-trees",
		Title:     "A page about rings and trees",
		Body:      strings.Repeat("All work and no play. ", 46),
		Author:    "01JA8Z5M3Q7W9X2C4V6B8N0AAA",
		Category:  "structures",
		Tags:      []string{"go", "trees", "rings"},
		CreatedAt: time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC),
		UpdatedAt: time.Date(2026, 3, 2, 12, 0, 0, 987654321, time.UTC),
		Views:     123456,
	}
}

func TestModel_Append_ReusedBufferNeedsNoAllocation(t *testing.T) {
	page, buf := newPage(), make([]byte, 0, 4096)
	got := testing.AllocsPerRun(1000, func() {
		proof.Done(t)(sample.Pages().Append(buf[:0], page))
	})
	proof.Equal(t, got, 0, "allocations: 0")
}

func TestModel_Unmarshal_PageNeedsAtMostEightAllocations(t *testing.T) {
	data := marshalPage(t, newPage())
	got := testing.AllocsPerRun(1000, func() {
		var page sample.Page
		proof.Done(t)(sample.Pages().Unmarshal(data, &page))
	})
	t.Logf("%v allocations, %d bytes stored", got, len(data))
	if got > 8 {
		t.Errorf("allocations: want at most 8, got %v", got)
	}
}

func TestModel_Marshal_ResultIsJustItsSize(t *testing.T) {
	data := marshalPage(t, newPage())
	proof.Equal(t, cap(data), len(data), "capacity")
}

func marshalPage(t testing.TB, page *sample.Page) []byte {
	t.Helper()
	data, err := sample.Pages().Marshal(page)
	must(t, err)
	return data
}
