package codec_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/codec/internal/sample"
	"github.com/ringtree/ringtree/kvmodel/codec/internal/sample/geo"
)

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
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Fatalf("the copy is not the same (-want +got)\n%s", diff)
	}
	if changed := spoil(reflect.ValueOf(got).Elem()); changed < 60 {
		t.Fatalf("only %d values were changed", changed)
	}
	if diff := cmp.Diff(want, first, same); diff != "" {
		t.Errorf("the first has changed with its copy (-want +got)\n%s", diff)
	}
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
