package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel/codec"
)

// A seal stands behind stored bytes: four bytes that nothing else ends in, and the CRC-32C
// of what is before them, big-endian.

const (
	sealMark  = 0xff5ea1ed
	sealBytes = 8
)

// Seal appends the seal of data to it.
func Seal(data []byte) []byte {
	sum := Sum(data)
	data = binary.BigEndian.AppendUint32(data, sealMark)
	return binary.BigEndian.AppendUint32(data, sum)
}

// Unseal returns what was sealed, also if one bit has changed since. If more than a bit has
// changed, or one of more than 8 KiB, it returns an ErrCorrupt and what seems to have been
// sealed.
func Unseal(data []byte) ([]byte, error) {
	n := len(data) - sealBytes
	if n < 0 {
		return data, fmt.Errorf("%w: it has no seal", codec.ErrCorrupt)
	}
	fits := func(data []byte) bool {
		return binary.BigEndian.Uint32(data[n:]) == sealMark && binary.BigEndian.Uint32(data[n+4:]) == Sum(data[:n])
	}
	if mended, ok := Mend(data, fits); ok {
		return mended[:n], nil
	}
	return data[:n], fmt.Errorf("%w: the sum is of other bytes", codec.ErrCorrupt)
}

// mendable bounds the bytes that are tried bit by bit, which takes as many sums of them.
const mendable = 8 << 10

// Mend returns data as it fits: as it is, or a copy of it in which one bit is another. It
// looks for no such bit in more than 8 KiB.
func Mend(data []byte, fits func([]byte) bool) ([]byte, bool) {
	if fits(data) {
		return data, true
	}
	if len(data) > mendable {
		return data, false
	}
	mended := append([]byte(nil), data...)
	for i := range mended {
		for bit := byte(1); bit != 0; bit <<= 1 {
			mended[i] ^= bit
			if fits(mended) {
				return mended, true
			}
			mended[i] ^= bit
		}
	}
	return data, false
}
