package codec

// The first byte of a msgpack value.
const (
	codeFixMap   = 0x80
	codeFixArray = 0x90
	codeFixStr   = 0xa0
	codeNil      = 0xc0
	codeNone     = 0xc1 // never used by msgpack; here it means no code
	codeFalse    = 0xc2
	codeTrue     = 0xc3
	codeBin8     = 0xc4
	codeBin16    = 0xc5
	codeBin32    = 0xc6
	codeExt8     = 0xc7
	codeExt16    = 0xc8
	codeExt32    = 0xc9
	codeFloat32  = 0xca
	codeFloat64  = 0xcb
	codeUint8    = 0xcc
	codeUint16   = 0xcd
	codeUint32   = 0xce
	codeUint64   = 0xcf
	codeInt8     = 0xd0
	codeInt16    = 0xd1
	codeInt32    = 0xd2
	codeInt64    = 0xd3
	codeFixExt1  = 0xd4
	codeFixExt2  = 0xd5
	codeFixExt4  = 0xd6
	codeFixExt8  = 0xd7
	codeFixExt16 = 0xd8
	codeStr8     = 0xd9
	codeStr16    = 0xda
	codeStr32    = 0xdb
	codeArray16  = 0xdc
	codeArray32  = 0xdd
	codeMap16    = 0xde
	codeMap32    = 0xdf
	codeNegative = 0xe0
)

const extTime = 0xff // extension type -1, a timestamp

type kind uint8

const (
	kindNone kind = iota
	kindNil
	kindBool
	kindInteger
	kindFloat
	kindString
	kindBytes
	kindArray
	kindMap
	kindExtension
)

func (k kind) String() string {
	return [...]string{"a byte that begins no value", "nil", "a bool", "an integer", "a float",
		"a string", "bytes", "an array", "a map", "an extension"}[k]
}

// shape is the layout after a first byte: a count in width bytes (or the count in the first byte
// itself), a fixed number of payload bytes, and then the counted part: the bytes of a string, of
// bytes or of an extension, the values of an array, or the pairs of a map.
type shape struct {
	kind    kind
	width   uint8
	payload uint8
	count   uint8
}

func shapeOf(c byte) shape {
	switch {
	case c < codeFixMap || c >= codeNegative:
		return shape{kind: kindInteger}
	case c < codeFixArray:
		return shape{kind: kindMap, count: c & 0x0f}
	case c < codeFixStr:
		return shape{kind: kindArray, count: c & 0x0f}
	case c < codeNil:
		return shape{kind: kindString, count: c & 0x1f}
	}
	return shapes[c]
}

// shapes is indexed by the first bytes that contain no count.
var shapes = [256]shape{
	codeNil:      {kind: kindNil},
	codeNone:     {kind: kindNone},
	codeFalse:    {kind: kindBool},
	codeTrue:     {kind: kindBool},
	codeBin8:     {kind: kindBytes, width: 1},
	codeBin16:    {kind: kindBytes, width: 2},
	codeBin32:    {kind: kindBytes, width: 4},
	codeExt8:     {kind: kindExtension, width: 1, payload: 1},
	codeExt16:    {kind: kindExtension, width: 2, payload: 1},
	codeExt32:    {kind: kindExtension, width: 4, payload: 1},
	codeFloat32:  {kind: kindFloat, payload: 4},
	codeFloat64:  {kind: kindFloat, payload: 8},
	codeUint8:    {kind: kindInteger, payload: 1},
	codeUint16:   {kind: kindInteger, payload: 2},
	codeUint32:   {kind: kindInteger, payload: 4},
	codeUint64:   {kind: kindInteger, payload: 8},
	codeInt8:     {kind: kindInteger, payload: 1},
	codeInt16:    {kind: kindInteger, payload: 2},
	codeInt32:    {kind: kindInteger, payload: 4},
	codeInt64:    {kind: kindInteger, payload: 8},
	codeFixExt1:  {kind: kindExtension, payload: 1 + 1},
	codeFixExt2:  {kind: kindExtension, payload: 1 + 2},
	codeFixExt4:  {kind: kindExtension, payload: 1 + 4},
	codeFixExt8:  {kind: kindExtension, payload: 1 + 8},
	codeFixExt16: {kind: kindExtension, payload: 1 + 16},
	codeStr8:     {kind: kindString, width: 1},
	codeStr16:    {kind: kindString, width: 2},
	codeStr32:    {kind: kindString, width: 4},
	codeArray16:  {kind: kindArray, width: 2},
	codeArray32:  {kind: kindArray, width: 4},
	codeMap16:    {kind: kindMap, width: 2},
	codeMap32:    {kind: kindMap, width: 4},
}
