package codec_test

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/codec/internal/sample"
)

// stored is a value, its stored form, and other forms that read as the same
// value. If a form here has to change, existing records can no longer be read.
type stored interface{ check(*testing.T) }

type form[T any] struct {
	model codec.Model[T]
	value T
	hex   string
	also  []string
}

func (f form[T]) check(t *testing.T) {
	data, err := f.model.Marshal(&f.value)
	must(t, err)
	proof.NoDiff(t, cmp.Diff(strings.ReplaceAll(f.hex, " ", ""), hex.EncodeToString(data)), "stored form")
	for _, in := range append(f.also, f.hex) {
		var got T
		if _, err := f.model.Unmarshal(unhex(t, in), &got); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		proof.NoDiff(t, cmp.Diff(f.value, got, exact), "%s: value", in)
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	must(t, err)
	return b
}

var (
	bools    = codec.Model[bool]{Write: codec.WriteBool[bool], Read: codec.ReadBool[bool]}
	ints     = codec.Model[int64]{Write: codec.WriteInt[int64], Read: codec.ReadInt[int64]}
	int8s    = codec.Model[int8]{Write: codec.WriteInt[int8], Read: codec.ReadInt[int8]}
	uints    = codec.Model[uint64]{Write: codec.WriteUint[uint64], Read: codec.ReadUint[uint64]}
	uint8s   = codec.Model[uint8]{Write: codec.WriteUint[uint8], Read: codec.ReadUint[uint8]}
	float32s = codec.Model[float32]{Write: codec.WriteFloat[float32], Read: codec.ReadFloat[float32]}
	float64s = codec.Model[float64]{Write: codec.WriteFloat[float64], Read: codec.ReadFloat[float64]}
	texts    = codec.Model[string]{Write: codec.WriteString[string], Read: codec.ReadString[string]}
	blobs    = codec.Model[[]byte]{Write: codec.WriteBytes[[]byte], Read: codec.ReadBytes[[]byte]}
	times    = codec.Model[time.Time]{Write: codec.WriteTime, Read: codec.ReadTime}
	hexes    = codec.Model[sample.Hex]{Write: codec.WriteText[sample.Hex], Read: codec.ReadText[sample.Hex]}
	raws     = codec.Model[msgpack.RawMessage]{Write: codec.WriteCustom[msgpack.RawMessage], Read: codec.ReadCustom[msgpack.RawMessage]}
	sums     = codec.Model[[2]byte]{
		Write: func(w *codec.Writer, v *[2]byte) { codec.WriteByteArray(w, v[:]) },
		Read:  func(r *codec.Reader, v *[2]byte) { codec.ReadByteArray(r, v[:]) },
	}
	pairs = codec.Model[[2]int]{
		Write: func(w *codec.Writer, v *[2]int) { codec.WriteArray(w, v[:], codec.WriteInt) },
		Read:  func(r *codec.Reader, v *[2]int) { codec.ReadArray(r, v[:], codec.ReadInt) },
	}
	lists = codec.Model[[]int]{
		Write: func(w *codec.Writer, v *[]int) { codec.WriteSlice(w, v, codec.WriteInt) },
		Read:  func(r *codec.Reader, v *[]int) { codec.ReadSlice(r, v, codec.ReadInt) },
	}
	pointers = codec.Model[*int]{
		Write: func(w *codec.Writer, v **int) { codec.WritePointer(w, v, codec.WriteInt) },
		Read:  func(r *codec.Reader, v **int) { codec.ReadPointer(r, v, codec.ReadInt) },
	}
	byName = codec.Model[map[string]int]{
		Write: func(w *codec.Writer, v *map[string]int) { codec.WriteMap(w, v, codec.WriteString, codec.WriteInt) },
		Read:  func(r *codec.Reader, v *map[string]int) { codec.ReadMap(r, v, codec.ReadString, codec.ReadInt) },
	}
	byNumber = codec.Model[map[int8]bool]{
		Write: func(w *codec.Writer, v *map[int8]bool) { codec.WriteMap(w, v, codec.WriteInt, codec.WriteBool) },
		Read:  func(r *codec.Reader, v *map[int8]bool) { codec.ReadMap(r, v, codec.ReadInt, codec.ReadBool) },
	}
)

func TestStoredForm_OfEachKindIsWhatItWas(t *testing.T) {
	for name, f := range map[string]stored{
		"bool true":  form[bool]{bools, true, "c3", nil},
		"bool false": form[bool]{bools, false, "c2", []string{"c0"}},

		"int 0":        form[int64]{ints, 0, "00", []string{"c0", "cc00", "d000", "cd0000", "d10000", "ce00000000", "d200000000", "cf0000000000000000", "d30000000000000000"}},
		"int 127":      form[int64]{ints, 127, "7f", nil},
		"int 128":      form[int64]{ints, 128, "cc80", []string{"d10080"}},
		"int 256":      form[int64]{ints, 256, "cd0100", nil},
		"int 65536":    form[int64]{ints, 65536, "ce00010000", nil},
		"int 2^32":     form[int64]{ints, 1 << 32, "cf0000000100000000", []string{"d30000000100000000"}},
		"int -1":       form[int64]{ints, -1, "ff", []string{"d0ff", "d1ffff", "d2ffffffff", "d3ffffffffffffffff"}},
		"int -32":      form[int64]{ints, -32, "e0", nil},
		"int -33":      form[int64]{ints, -33, "d0df", nil},
		"int -129":     form[int64]{ints, -129, "d1ff7f", nil},
		"int -32769":   form[int64]{ints, -32769, "d2ffff7fff", nil},
		"int min":      form[int64]{ints, math.MinInt64, "d38000000000000000", nil},
		"uint max":     form[uint64]{uints, math.MaxUint64, "cfffffffffffffffff", nil},
		"uint8 max":    form[uint8]{uint8s, 255, "ccff", []string{"cd00ff", "d100ff"}},
		"int8 min":     form[int8]{int8s, -128, "d080", []string{"d3ffffffffffffff80"}},
		"float64":      form[float64]{float64s, 1.5, "cb3ff8000000000000", []string{"ca3fc00000"}},
		"float64 int":  form[float64]{float64s, -2, "cbc000000000000000", []string{"fe", "d0fe"}},
		"float64 2^63": form[float64]{float64s, 1 << 63, "cb43e0000000000000", []string{"cf8000000000000000"}},
		"float64 nan":  form[float64]{float64s, math.Float64frombits(0x7ff8000000000001), "cb7ff8000000000001", nil},
		"float32":      form[float32]{float32s, 0.1, "ca3dcccccd", []string{"cb3fb99999a0000000"}},
		"float32 inf":  form[float32]{float32s, float32(math.Inf(1)), "ca7f800000", []string{"cb7ff0000000000000"}},

		"string empty":   form[string]{texts, "", "a0", []string{"c0", "d900", "da0000", "db00000000"}},
		"string":         form[string]{texts, "go", "a2676f", []string{"d902676f"}},
		"string 31":      form[string]{texts, strings.Repeat("a", 31), "bf" + strings.Repeat("61", 31), nil},
		"string 32":      form[string]{texts, strings.Repeat("a", 32), "d920" + strings.Repeat("61", 32), nil},
		"string 256":     form[string]{texts, strings.Repeat("a", 256), "da0100" + strings.Repeat("61", 256), nil},
		"string 65536":   form[string]{texts, strings.Repeat("a", 65536), "db00010000" + strings.Repeat("61", 65536), nil},
		"bytes nil":      form[[]byte]{blobs, nil, "c0", nil},
		"bytes empty":    form[[]byte]{blobs, []byte{}, "c400", []string{"c50000", "c600000000"}},
		"bytes":          form[[]byte]{blobs, []byte{0, 255}, "c40200ff", nil},
		"bytes 256":      form[[]byte]{blobs, make([]byte, 256), "c50100" + strings.Repeat("00", 256), nil},
		"bytes 65536":    form[[]byte]{blobs, make([]byte, 65536), "c600010000" + strings.Repeat("00", 65536), nil},
		"byte array":     form[[2]byte]{sums, [2]byte{1, 2}, "c4020102", nil},
		"byte array old": form[[2]byte]{sums, [2]byte{1, 0}, "c4020100", []string{"c40101"}},

		"time seconds": form[time.Time]{times, time.Unix(1, 0).UTC(), "d6ff00000001", nil},
		"time nanos":   form[time.Time]{times, time.Unix(1, 2).UTC(), "d7ff0000000800000001", nil},
		"time 2106":    form[time.Time]{times, time.Unix(1<<32, 0).UTC(), "d7ff0000000100000000", nil},
		"time zero":    form[time.Time]{times, time.Time{}, "c70cff00000000fffffff1886e0900", []string{"c0"}},
		"time 1969":    form[time.Time]{times, time.Unix(-1, 999999999).UTC(), "c70cff3b9ac9ffffffffffffffffff", nil},

		"slice nil":     form[[]int]{lists, nil, "c0", nil},
		"slice empty":   form[[]int]{lists, []int{}, "90", []string{"dc0000", "dd00000000"}},
		"slice":         form[[]int]{lists, []int{1, -1}, "9201ff", []string{"dc000201ff"}},
		"slice 16":      form[[]int]{lists, make([]int, 16), "dc0010" + strings.Repeat("00", 16), nil},
		"array":         form[[2]int]{pairs, [2]int{1, 2}, "920102", nil},
		"array shorter": form[[2]int]{pairs, [2]int{1, 0}, "920100", []string{"9101"}},
		"pointer nil":   form[*int]{pointers, nil, "c0", nil},
		"pointer":       form[*int]{pointers, ptr(5), "05", nil},
		"map nil":       form[map[string]int]{byName, nil, "c0", nil},
		"map empty":     form[map[string]int]{byName, map[string]int{}, "80", []string{"de0000"}},
		"map sorted":    form[map[string]int]{byName, map[string]int{"b": 2, "a": 1, "": 0}, "83 a000 a16101 a16202", []string{"83 a16202 a16101 a000"}},
		"map by number": form[map[int8]bool]{byNumber, map[int8]bool{-1: true, 1: false}, "82 ffc3 01c2", nil},

		"own text":    form[sample.Hex]{hexes, sample.Hex{0xca}, "a26361", []string{"c4026361", "d9026361"}},
		"own msgpack": form[msgpack.RawMessage]{raws, msgpack.RawMessage{0x91, 0x01}, "9101", nil},
		"own nothing": form[msgpack.RawMessage]{raws, nil, "c0", nil},
		"struct": form[sample.Page]{*sample.Pages(), sample.Page{ID: "1", Views: -1, Tags: []string{"t"}},
			"8a a24944a131 a4536c7567a0 a55469746c65a0 a4426f6479a0 a6417574686f72a0 a843617465676f7279a0 a45461677391a174" +
				"a9437265617465644174c70cff00000000fffffff1886e0900 a9557064617465644174c70cff00000000fffffff1886e0900 a55669657773ff",
			[]string{"83 a24944a131 a55669657773ff a45461677391a174"}},
	} {
		t.Run(name, f.check)
	}
}
