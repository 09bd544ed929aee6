package build

import (
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"strings"

	"github.com/ringtree/ringtree/internal/wire"
)

// The seal of an item looks like the last of its losers: an id that no record can have. A
// release without seals finds no such record, and then writes an item without it.
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

// unseal returns what was sealed, also if one bit has changed since, and what was not as it
// is. It reports whether that is right.
func unseal(data []byte) ([]byte, bool) {
	n := len(data) - sealSize
	if n < 0 || wrongBits(string(data[n:n+len(sealMark)]), sealMark) > 1 {
		return data, !strings.Contains(string(data), sealMark)
	}
	mended, ok := wire.Mend(data, func(data []byte) bool { return string(data[n+len(sealMark):]) == sumOf(data[:n]) })
	return mended[:n], ok
}

// wrongBits returns in how many bits a and b, which are as long, are not the same.
func wrongBits(a, b string) (n int) {
	for i := range len(a) {
		n += bits.OnesCount8(a[i] ^ b[i])
	}
	return n
}
