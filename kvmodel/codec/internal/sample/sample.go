// Package sample holds models of every kind of field, with their generated codecs. codegen's tests
// keep sample_kv.go current. No tag here makes a struct a model to kvgen, which would want to write
// the package itself.
package sample

import (
	"encoding/hex"
	"errors"
	"net/netip"
	"net/url"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/ringtree/ringtree/kvmodel/codec/internal/sample/geo"
)

// Page is a record of ten fields, about 1 KiB, for the measurements.
type Page struct {
	ID        string
	Slug      string
	Title     string
	Body      string
	Author    string
	Category  string
	Tags      []string
	CreatedAt time.Time
	UpdatedAt time.Time
	Views     int64
}

// Kitchen has every kind of field.
type Kitchen struct {
	Base
	*Extra
	Stamp

	Bool    bool
	Int     int
	Int8    int8
	Int16   int16
	Int32   int32
	Int64   int64
	Uint    uint
	Uint8   uint8
	Uint16  uint16
	Uint32  uint32
	Uint64  uint64
	Float32 float32
	Float64 float64
	String  string
	Bytes   []byte
	Time    time.Time
	For     time.Duration

	Color  Color
	Level  Level
	Ratio  Ratio
	Flag   Flag
	Digest Digest
	Words  Words
	Raised Raised

	Pointer  *int
	Struct   *Address
	Pointers []*Address
	Slice    []string
	Slices   [][]int
	Array    [3]int16
	Sum      [4]byte
	Grid     Grid
	ByName   map[string]int
	ByNumber map[int64]string
	ByLevel  map[Level][]Address
	ByColor  map[Color]map[uint8]bool
	Set      map[string]struct{}

	Nested  Address
	Inline  struct{ A, B int }
	Point   geo.Point
	Region  geo.Region
	Points  map[string]geo.Point
	Number  Box[int]
	Boxes   []Box[geo.Point]
	Tree    Tree
	Forest  Forest
	Comment *Page

	Addr    netip.Addr
	Addrs   []netip.Addr
	URL     url.URL
	Link    *url.URL
	Hex     Hex
	Version Version
	Packed  Packed
	Raw     msgpack.RawMessage

	Renamed string `msgpack:"new_name,alias:old_name,omitempty"`
	Left    string `msgpack:"-"`
	Out     string `kv:"-"`
	private string
}

// Private returns the field that is not stored.
func (k *Kitchen) Private() string { return k.private }

// SetPrivate sets the field that is not stored.
func (k *Kitchen) SetPrivate(s string) { k.private = s }

// Base is embedded: its fields are the Kitchen's.
type Base struct {
	ID      string
	Created time.Time
}

// Extra is embedded by pointer. It is a field of its own, so nil stays nil.
type Extra struct {
	Note string
}

// The named types of a Kitchen.
type (
	Color  string
	Level  int8
	Ratio  float32
	Flag   bool
	Digest []byte
	Words  []Color
	Raised time.Time
	Grid   [2][2]Level
	Stamp  int64
)

// Address is a nested struct.
type Address struct {
	Street string
	Zip    *string
	At     geo.Point
}

// Box is stored as the types it is instantiated with.
type Box[T any] struct {
	Value T
	More  []T
}

// Tree and Forest contain themselves.
type Tree struct {
	Name string
	Kids []Tree
	Next *Tree
}

// Forest contains itself without a struct.
type Forest map[string]Forest

// Hex is stored as text.
type Hex []byte

// MarshalText implements encoding.TextMarshaler.
func (h Hex) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hex) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// Version is stored as its own msgpack, an array of two.
type Version struct{ Major, Minor int }

// EncodeMsgpack implements msgpack.CustomEncoder.
func (v *Version) EncodeMsgpack(e *msgpack.Encoder) error {
	if v.Major < 0 {
		return errors.New("negative version")
	}
	return errors.Join(e.EncodeArrayLen(2), e.EncodeInt(int64(v.Major)), e.EncodeInt(int64(v.Minor)))
}

// DecodeMsgpack implements msgpack.CustomDecoder.
func (v *Version) DecodeMsgpack(d *msgpack.Decoder) error {
	n, err := d.DecodeArrayLen()
	if err != nil {
		return err
	}
	if n != 2 {
		return errors.New("a version has two numbers")
	}
	if v.Major, err = d.DecodeInt(); err != nil {
		return err
	}
	v.Minor, err = d.DecodeInt()
	return err
}

// Packed is stored by MarshalMsgpack.
type Packed struct{ N uint8 }

// MarshalMsgpack implements msgpack.Marshaler.
func (p Packed) MarshalMsgpack() ([]byte, error) { return []byte{0xcc, p.N}, nil }

// UnmarshalMsgpack implements msgpack.Unmarshaler.
func (p *Packed) UnmarshalMsgpack(b []byte) error {
	if len(b) != 2 || b[0] != 0xcc {
		return errors.New("not a packed number")
	}
	p.N = b[1]
	return nil
}

// A Pantry has the fields of a Kitchen, except the ones with their own stored form: it can be
// copied.
type Pantry struct {
	Base
	*Extra

	Bytes  []byte
	Time   time.Time
	Level  Level
	Digest Digest
	Words  Words

	Pointer  *int
	Struct   *Address
	Pointers []*Address
	Slice    []string
	Slices   [][]int
	Array    [3]int16
	Rows     [2][]int
	Grid     Grid
	ByName   map[string]int
	ByLevel  map[Level][]Address
	ByColor  map[Color]map[uint8]bool

	Nested  Address
	Inline  struct{ A []int }
	Points  map[string]geo.Point
	Number  Box[int]
	Boxes   []Box[geo.Point]
	Tree    Tree
	Forest  Forest
	Comment *Page

	cache []int // is not stored
}
