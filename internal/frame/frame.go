// Package frame stores bytes with their checksum, in two formats.
//
// A value that is written whole is a payload and its big-endian CRC-32C. A value that is appended
// to consists of frames: the byte F5, the length of the payload as a varint, the payload, and the
// CRC-32C of these. Damaged bytes count as lost; frames behind them are still read. An important
// value is two equal frames, and either is enough.
package frame

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
)

const Sum = 4

// mark never occurs in UTF-8.
const mark = 0xf5

// Whole appends its checksum to data.
func Whole(data []byte) []byte { return End(data, 0) }

// End is Whole for a value that begins at begin in dst.
func End(dst []byte, begin int) []byte {
	return binary.BigEndian.AppendUint32(dst, wire.Sum(dst[begin:]))
}

// Open returns the payload of a value made by Whole. A damaged one is returned as found, with an
// ErrCorrupt.
func Open(value []byte) (payload []byte, err error) {
	n := len(value) - Sum
	if n < 0 {
		return value, fmt.Errorf("%w: it has no checksum", codec.ErrCorrupt)
	}
	if wire.Sum(value[:n]) != binary.BigEndian.Uint32(value[n:]) {
		return value[:n], fmt.Errorf("%w: the checksum does not match", codec.ErrCorrupt)
	}
	return value[:n], nil
}

func Append(dst, payload []byte) []byte {
	dst = slices.Grow(dst, 1+binary.MaxVarintLen32+len(payload)+Sum)
	begin := len(dst)
	dst = append(dst, mark)
	dst = binary.AppendUvarint(dst, uint64(len(payload)))
	return End(append(dst, payload...), begin)
}

// Next returns the payload of the first frame in data, and the rest after it. If data begins with
// something else, the error is an ErrCorrupt, and rest begins with the next frame, if any.
func Next(data []byte) (payload, rest []byte, err error) {
	if payload, size := first(data); size > 0 {
		return payload, data[size:], nil
	}
	rest = data
	for len(rest) > 0 {
		rest = rest[1:]
		at := bytes.IndexByte(rest, mark)
		if at < 0 {
			rest = nil
		} else if rest = rest[at:]; isFrame(rest) {
			break
		}
	}
	return nil, rest, fmt.Errorf("%w: %d bytes are in no intact frame", codec.ErrCorrupt, len(data)-len(rest))
}

func isFrame(data []byte) bool {
	_, size := first(data)
	return size > 0
}

// first returns a size of 0 if data does not begin with a frame.
func first(data []byte) (payload []byte, size int) {
	if len(data) == 0 || data[0] != mark {
		return nil, 0
	}
	length, n := binary.Uvarint(data[1:])
	begin := 1 + n
	if n <= 0 || length > uint64(len(data)) || begin+int(length)+Sum > len(data) {
		return nil, 0
	}
	end := begin + int(length)
	if wire.Sum(data[:end]) != binary.BigEndian.Uint32(data[end:]) {
		return nil, 0
	}
	return data[begin:end:end], end + Sum
}

func Twice(payload []byte) []byte { return Append(Append(nil, payload), payload) }

// Either returns the payload of a value made by Twice, or nil, and an ErrCorrupt if one frame
// cannot be read.
func Either(value []byte) (payload []byte, damaged error) {
	if len(value) == 0 {
		return nil, fmt.Errorf("%w: it is empty", codec.ErrCorrupt)
	}
	for rest := value; len(rest) > 0; {
		var one []byte
		var err error
		if one, rest, err = Next(rest); err == nil && payload == nil {
			payload = one
		}
		damaged = cmp.Or(damaged, err)
	}
	return payload, damaged
}
