// Package frame stores bytes with their checksum, in two formats.
//
// What is written as a whole is a payload and its CRC-32C, big-endian. What is appended is
// frames, each with the length of its payload, 32 bits big-endian, before it and the CRC-32C
// of both behind it. Whatever does not fit its checksum is damaged, and counts as lost: no bit
// of it is mended.
package frame

import (
	"encoding/binary"
	"fmt"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
)

// Sum is the size of a checksum, and Overhead what a frame has besides its payload.
const (
	Sum      = 4
	Overhead = 4 + Sum
)

// Whole appends the checksum of data, which is all of a value, to it.
func Whole(data []byte) []byte { return binary.BigEndian.AppendUint32(data, wire.Sum(data)) }

// Open returns the payload of a value that Whole has made. If it is damaged, the error is an
// ErrCorrupt, and the payload is as it was found.
func Open(value []byte) (payload []byte, err error) {
	n := len(value) - Sum
	if n < 0 {
		return value, fmt.Errorf("%w: it has no checksum", codec.ErrCorrupt)
	}
	if wire.Sum(value[:n]) != binary.BigEndian.Uint32(value[n:]) {
		return value[:n], fmt.Errorf("%w: the checksum is of other bytes", codec.ErrCorrupt)
	}
	return value[:n], nil
}
