package envelope

import (
	"encoding/binary"

	"github.com/ringtree/ringtree/internal/wire"
)

// The sum of a record is the first of its marks, and has the rev for which it was made.

// sumMark is the name of that mark. No index is named so.
const sumMark = "\xff\xff\x7f"

const sumBytes = 4

// appendSum appends the mark to dst, with room for the sum of a record of that rev, and
// returns where that is.
func appendSum(dst []byte, rev uint64) (_ []byte, at int) {
	dst = wire.AppendText(dst, sumMark)
	var number [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(number[:], rev)
	dst = append(dst, byte(n+sumBytes))
	dst = append(dst, number[:n]...)
	return append(dst, make([]byte, sumBytes)...), len(dst)
}

// putSum puts the sum of data, a whole value, into the room at at.
func putSum(data []byte, at int) {
	binary.BigEndian.PutUint32(data[at:], wire.Sum(data[:at], data[at+sumBytes:]))
}

// fits reports whether the sum at at is that of data.
func fits(data []byte, at int) bool {
	return wire.Sum(data[:at], data[at+sumBytes:]) == binary.BigEndian.Uint32(data[at:])
}
