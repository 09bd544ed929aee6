package build

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/ringtree/ringtree/internal/wire"
)

// The seal of an item looks like the last of its losers: an id that no record can have.
const (
	sealMark  = "\x08%~" // with the length of the text
	sealChars = 6        // of the sum of all before the seal
	sealSize  = len(sealMark) + sealChars
)

// seal appends the seal of data to it.
func seal(data []byte) []byte {
	sum := sumOf(data)
	return append(append(data, sealMark...), sum...)
}

func sumOf(data []byte) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, wire.Sum(data)))
}

// unseal returns what was sealed, also if one bit has changed since. It reports whether that
// is right.
func unseal(data []byte) ([]byte, bool) {
	n := len(data) - sealSize
	if n < 0 {
		return data, false
	}
	mended, ok := wire.Mend(data, func(data []byte) bool { return string(data[n:]) == sealMark+sumOf(data[:n]) })
	return mended[:n], ok
}
