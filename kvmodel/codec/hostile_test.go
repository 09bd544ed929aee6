package codec_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/codec/internal/sample"
)

var hostile = map[string]struct{ hex, want string }{
	"nothing":             {"", "offset 0: truncated: a value is missing"},
	"not a struct":        {"91 00", "offset 0: want a map, found an array"},
	"no value":            {"c1", "offset 0: want a map, found a byte that begins no value"},
	"trailing":            {"80 c0 c0", "offset 1: 2 bytes after the value"},
	"name cut":            {"81 a5 496e", "offset 2: truncated: 5 bytes wanted, 2 remain"},
	"name is a number":    {"81 01 01", "offset 1: want a field name, found an integer"},
	"name is nil":         {"81 c0 01", "offset 1: want a field name, found nil"},
	"value missing":       {"82 a3496e7401 a3496e74", "Int at offset 10: truncated: a value is missing"},
	"fields missing":      {"84 a3496e7401 a3496e7401", "offset 11: truncated: a value is missing"},
	"map bomb":            {"df ffffffff", "offset 0: truncated: a map of at least 8589934590 bytes in the 0 that remain"},
	"map16 bomb":          {"de ffff 00", "offset 0: truncated: a map of at least 131070 bytes in the 1 that remain"},
	"length cut":          {"df ffff", "offset 1: truncated: 4 bytes wanted, 2 remain"},
	"array bomb":          {"81 a5536c696365 dd ffffffff", "Slice at offset 7: truncated: an array of at least 4294967295 bytes in the 0 that remain"},
	"string bomb":         {"81 a6537472696e67 db ffffffff", "String at offset 8: truncated: a string of at least 4294967295 bytes in the 0 that remain"},
	"bytes bomb":          {"81 a54279746573 c6 ffffffff", "Bytes at offset 7: truncated: bytes of at least 4294967295 bytes in the 0 that remain"},
	"map field bomb":      {"81 a642794e616d65 df 80000000", "ByName at offset 8: truncated: a map of at least 4294967296 bytes in the 0 that remain"},
	"unknown bomb":        {"81 a178 dd ffffffff", "x at offset 3: truncated: an array of at least 4294967295 bytes in the 0 that remain"},
	"unknown ext bomb":    {"81 a178 c9 ffffffff 01", "x at offset 3: truncated: an extension of at least 4294967296 bytes in the 1 that remain"},
	"unknown none":        {"81 a178 c1", "x at offset 3: want a value, found a byte that begins no value"},
	"unknown cut":         {"81 a178 cb 0000", "x at offset 3: truncated: a float of at least 8 bytes in the 2 that remain"},
	"bool is int":         {"81 a4426f6f6c 01", "Bool at offset 6: want a bool, found an integer"},
	"int is string":       {"81 a3496e74 a0", "Int at offset 5: want an integer, found a string"},
	"int is float":        {"81 a3496e74 cb0000000000000000", "Int at offset 5: want an integer, found a float"},
	"int8 over":           {"81 a4496e7438 cc80", "Int8 at offset 6: 128 does not fit int8"},
	"int8 under":          {"81 a4496e7438 d1ff7f", "Int8 at offset 6: -129 does not fit int8"},
	"int64 over":          {"81 a5496e743634 cf8000000000000000", "Int64 at offset 7: 9223372036854775808 does not fit int64"},
	"uint negative":       {"81 a455696e74 ff", "Uint at offset 6: -1 does not fit uint"},
	"uint8 over":          {"81 a555696e7438 cd0100", "Uint8 at offset 7: 256 does not fit uint8"},
	"uint64 negative":     {"81 a655696e743634 d3ffffffffffffffff", "Uint64 at offset 8: -1 does not fit uint64"},
	"float32 too exact":   {"81 a7466c6f61743332 cb3fb999999999999a", "Float32 at offset 9: 0.1 does not fit float32 exactly"},
	"float32 over":        {"81 a7466c6f61743332 cb7fe0000000000000", "Float32 at offset 9: 8.98846567431158e+307 does not fit float32 exactly"},
	"float64 of int":      {"81 a7466c6f61743634 cfffffffffffffffff", "Float64 at offset 9: 1.8446744073709552e+19 does not fit float64 exactly"},
	"float is bool":       {"81 a7466c6f61743634 c3", "Float64 at offset 9: want a float, found a bool"},
	"string is bytes":     {"81 a6537472696e67 c40161", "String at offset 8: want a string, found bytes"},
	"bytes is string":     {"81 a54279746573 a161", "Bytes at offset 7: want bytes, found a string"},
	"time is int":         {"81 a454696d65 01", "Time at offset 6: want a timestamp, found an integer"},
	"time of 1 byte":      {"81 a454696d65 d4ff00", "Time at offset 6: want a timestamp of 4, 8 or 12 bytes, found 1"},
	"time of type 1":      {"81 a454696d65 d60100000000", "Time at offset 6: want a timestamp, found an extension of type 1"},
	"time nanos":          {"81 a454696d65 d7ff ffffffff00000000", "Time at offset 6: a timestamp with 1073741823 nanoseconds"},
	"time cut":            {"81 a454696d65 c70cff", "Time at offset 6: truncated: an extension of at least 13 bytes in the 1 that remain"},
	"array one short":     {"81 a5536c696365 92 a0", "Slice at offset 7: truncated: an array of at least 2 bytes in the 1 that remain"},
	"map one short":       {"81 a642794e616d65 81 a0", "ByName at offset 8: truncated: a map of at least 2 bytes in the 1 that remain"},
	"slice is map":        {"81 a5536c696365 80", "Slice at offset 7: want an array, found a map"},
	"element":             {"81 a5536c696365 92 a0 01", "Slice[1] at offset 9: want a string, found an integer"},
	"element of element":  {"81 a6536c69636573 91 92 01 a0", "Slices[0][1] at offset 11: want an integer, found a string"},
	"map key":             {"81 a642794e616d65 81 01 01", "ByName[] at offset 9: want a string, found an integer"},
	"map value":           {"81 a642794e616d65 82 a16101 a162 a0", "ByName[b] at offset 14: want an integer, found a string"},
	"map key range":       {"81 a742794c6576656c 81 cc80 90", "ByLevel[0] at offset 10: 128 does not fit sample.Level"},
	"array too long":      {"81 a54172726179 94 01020304", "Array at offset 7: 4 elements do not fit an array of 3"},
	"byte array too long": {"81 a353756d c405 0102030405", "Sum at offset 5: 5 elements do not fit an array of 4"},
	"nested":              {"81 a6537472756374 81 a24174 81 a34c6174 a0", "Struct.At.Lat at offset 17: want a float, found a string"},
	"own text":            {"81 a3486578 a17a", "Hex at offset 5: encoding/hex: invalid byte: U+007A 'z'"},
	"own text is int":     {"81 a3486578 01", "Hex at offset 5: want a string, found an integer"},
	"own msgpack":         {"81 a756657273696f6e 91 01", "Version at offset 9: a version has two numbers"},
	"own marshaler":       {"81 a65061636b6564 01", "Packed at offset 8: not a packed number"},
	"own binary":          {"81 a441646472 c40101", "Addr at offset 6: unexpected slice size"},
	"own msgpack bomb":    {"81 a756657273696f6e dd ffffffff", "Version at offset 9: truncated: an array of at least 4294967295 bytes in the 0 that remain"},
}

func TestModel_Unmarshal_HostileBytesAreCorruptAtAFieldAndOffset(t *testing.T) {
	for name, test := range hostile {
		t.Run(name, func(t *testing.T) {
			_, err := sample.Kitchens().Unmarshal(unhex(t, test.hex), new(sample.Kitchen))
			if !errors.Is(err, codec.ErrCorrupt) {
				t.Fatalf("want ErrCorrupt, got %v", err)
			}
			proof.NoDiff(t, cmp.Diff("corrupt data: "+test.want, err.Error()), "error")
		})
	}
}

func TestModel_Unmarshal_CauseOfAnOwnDecoderIsWrapped(t *testing.T) {
	_, err := sample.Kitchens().Unmarshal(unhex(t, "81 a756657273696f6e 92 c2 01"), new(sample.Kitchen))
	var corrupt *codec.Error
	if !errors.As(err, &corrupt) || corrupt.Cause == nil || !errors.Is(err, corrupt.Cause) {
		t.Fatalf("want an *Error with its cause, got %v", err)
	}
	if corrupt.Path() != "Version" || corrupt.Offset != 9 {
		t.Errorf("want Version at 9, got %s at %d", corrupt.Path(), corrupt.Offset)
	}
}

func TestModel_Unmarshal_EveryTruncationIsCorrupt(t *testing.T) {
	data, err := sample.Kitchens().Marshal(newKitchen())
	must(t, err)
	for n := range data {
		if _, err := sample.Kitchens().Unmarshal(data[:n], new(sample.Kitchen)); !errors.Is(err, codec.ErrCorrupt) {
			t.Fatalf("the first %d of %d bytes: want ErrCorrupt, got %v", n, len(data), err)
		}
	}
}

func TestKitchen_DecodeMsgpack_HostileBytesThroughMsgpackV5AreErrors(t *testing.T) {
	for name, test := range hostile {
		t.Run(name, func(t *testing.T) {
			if name == "trailing" {
				return // A stream may continue after the value.
			}
			var kitchen sample.Kitchen
			err := kitchen.DecodeMsgpack(msgpack.NewDecoder(bytes.NewReader(unhex(t, test.hex))))
			if name == "nothing" {
				if err != io.EOF {
					t.Errorf("want io.EOF, got %v", err)
				}
				return
			}
			proof.Is(t, err, codec.ErrCorrupt)
		})
	}
}

func TestModel_Unmarshal_DeepNestingIsCorrupt(t *testing.T) {
	const deep = 100_000
	for name, data := range map[string][]byte{
		"unknown arrays": append(unhex(t, "81 a178"), bytes.Repeat([]byte{0x91}, deep)...),
		"unknown maps":   append(unhex(t, "81 a178"), bytes.Repeat([]byte{0x81, 0xa0}, deep)...),
		"own msgpack":    append(unhex(t, "81 a3526177"), bytes.Repeat([]byte{0x91}, deep)...),
		"pointers":       append(unhex(t, "81 a454726565"), bytes.Repeat(unhex(t, "81 a44e657874"), deep)...),
		"slices":         append(unhex(t, "81 a454726565"), bytes.Repeat(unhex(t, "81 a44b696473 91"), deep)...),
		"maps":           append(unhex(t, "81 a6466f72657374"), bytes.Repeat(unhex(t, "81 a161"), deep)...),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sample.Kitchens().Unmarshal(data, new(sample.Kitchen))
			if !errors.Is(err, codec.ErrCorrupt) || !strings.Contains(err.Error(), "nested deeper than") {
				t.Errorf("want ErrCorrupt for depth, got %v", err)
			}
			err = new(sample.Kitchen).DecodeMsgpack(msgpack.NewDecoder(bytes.NewReader(data)))
			proof.Is(t, err, codec.ErrCorrupt)
		})
	}
}

func TestModel_Unmarshal_DepthThatCanBeWrittenCanBeRead(t *testing.T) {
	want := &sample.Kitchen{}
	leaf := &want.Tree
	for range codec.MaxDepth - 1 {
		leaf.Kids = []sample.Tree{{Name: "kid"}}
		leaf = &leaf.Kids[0]
	}
	data, err := sample.Kitchens().Marshal(want)
	must(t, err)
	var got, gotPlain sample.Kitchen
	proof.Done(t)(sample.Kitchens().Unmarshal(data, &got))
	must(t, msgpack.Unmarshal(data, &gotPlain))
	if !reflect.DeepEqual(want, &got) || !reflect.DeepEqual(want, &gotPlain) {
		t.Errorf("what was read is not what was written")
	}
}

func TestModel_Unmarshal_MemoryIsAtMostSixteenTimesTheInput(t *testing.T) {
	const n = 100_000
	for name, data := range map[string][]byte{
		"array of small structs": append(unhex(t, "81 a5426f786573 dd 000186a0"), bytes.Repeat([]byte{0x80}, n)...),
		"array of nil arrays":    append(unhex(t, "81 a6536c69636573 dd 000186a0"), bytes.Repeat([]byte{0xc0}, n)...),
		"array of empty strings": append(unhex(t, "81 a5536c696365 dd 000186a0"), bytes.Repeat([]byte{0xa0}, n)...),
		"array of pointers":      append(unhex(t, "81 a8506f696e74657273 dd 000186a0"), bytes.Repeat([]byte{0x80}, n)...),
		"short strings":          append(unhex(t, "81 a5536c696365 dd 000186a0"), bytes.Repeat([]byte{0xa2, 'a', 'b'}, n)...),
		"map of equal keys":      append(unhex(t, "81 a642794e616d65 df 000186a0"), bytes.Repeat([]byte{0xa0, 0x01}, n)...),
		"one field again":        append(unhex(t, "df 000186a0"), bytes.Repeat(unhex(t, "a6537472756374 80"), n)...),
		"half a count":           append(unhex(t, "81 a5426f786573 dd 0000c350"), bytes.Repeat([]byte{0x80}, n/4)...),
		"own text":               append(unhex(t, "81 a3486578 db 000186a0"), bytes.Repeat([]byte{'a'}, n)...),
	} {
		t.Run(name, func(t *testing.T) {
			assertMemoryBound(t, data)
		})
	}
}

// assertMemoryBound reads data as a Kitchen, from memory and by msgpack, and checks
// that the former takes no more memory than the package promises.
func assertMemoryBound(t *testing.T, data []byte) {
	t.Helper()
	var kitchen sample.Kitchen
	used := allocated(func() { _, _ = sample.Kitchens().Unmarshal(data, &kitchen) })
	if limit := max(16*len(data), 64<<10+3*len(data)) + allocationSlack; used > uint64(limit) {
		t.Errorf("%d bytes in: want at most %d allocated, got %d", len(data), limit, used)
	}
}

// allocationSlack covers allocations that do not grow with the input: those of an error, a pooled
// reader, the test itself and the runtime.
const allocationSlack = 16 << 10

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

type slowReader struct {
	data []byte
	err  error
}

func (r *slowReader) Read(b []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, r.err
	}
	n := copy(b[:min(1, len(b))], r.data)
	r.data = r.data[n:]
	return n, nil
}

func TestKitchen_DecodeMsgpack_ReadsOneValueAfterAnotherFromAnyReader(t *testing.T) {
	data := marshalPage(t, newPage())
	dec := msgpack.NewDecoder(&slowReader{append(bytes.Clone(data), data...), io.EOF})
	for range 2 {
		var got sample.Page
		must(t, got.DecodeMsgpack(dec))
		proof.NoDiff(t, cmp.Diff(newPage(), &got, exact), "page")
	}
	proof.Equal(t, new(sample.Page).DecodeMsgpack(dec), io.EOF, "io.EOF after the last value")
}

func TestKitchen_DecodeMsgpack_FailureOfTheReaderIsNotCorruption(t *testing.T) {
	broken := errors.New("broken pipe")
	dec := msgpack.NewDecoder(&slowReader{marshalPage(t, newPage())[:100], broken})
	err := new(sample.Page).DecodeMsgpack(dec)
	if !errors.Is(err, broken) || errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("want the reader's error alone, got %v", err)
	}
}

type nest struct{ read int }

func (n *nest) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 0x91
	}
	n.read += len(b)
	if n.read > 1<<20 {
		return 0, errors.New("read over 1 MiB")
	}
	return len(b), nil
}

func TestKitchen_DecodeMsgpack_EndlessNestingIsCorruptSoon(t *testing.T) {
	err := new(sample.Page).DecodeMsgpack(msgpack.NewDecoder(new(nest)))
	proof.Is(t, err, codec.ErrCorrupt)
}

func TestKitchen_DecodeMsgpack_LengthThatNeverArrivesTakesLittleMemory(t *testing.T) {
	data := append(unhex(t, "81 a6537472696e67 db ffffffff"), make([]byte, 10_000)...)
	used := allocated(func() {
		proof.Is(t, new(sample.Kitchen).DecodeMsgpack(msgpack.NewDecoder(bytes.NewReader(data))), codec.ErrCorrupt)
	})
	if limit := uint64(16*len(data) + allocationSlack); used > limit {
		t.Errorf("%d bytes in: want at most %d allocated, got %d", len(data), limit, used)
	}
}
