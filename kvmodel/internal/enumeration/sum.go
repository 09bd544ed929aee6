package enumeration

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A sum stands before the ids that were put into a chunk together, among them, as the text
// of an id that no record can have. It says how many ids it is of. One of no ids, the first
// of a chunk, is of its header.

const (
	sumMark  = "%~" // no byte is escaped so
	sumChars = 6

	maxSummed = 1 << 16 // ids under one sum

	// nobody stands in the place of an id that was taken out, so that those after it keep
	// their numbers: a build remembers how many texts of a chunk it has gone through.
	nobody = "%-"
)

var sumEncoding = base64.RawURLEncoding.Strict()

// sumText returns the sum of data as the text before n ids.
func sumText(n int, data []byte) string {
	sum := binary.BigEndian.AppendUint32(nil, wire.Sum(data))
	return sumMark + strconv.Itoa(n) + sumEncoding.EncodeToString(sum)
}

// grouped returns the bytes of ids with their sum, as they are appended to a chunk.
func grouped(ids []string) []byte {
	data := wire.AppendTexts(nil, ids)
	return append(wire.AppendText(nil, sumText(len(ids), data)), data...)
}

// summed returns how many ids text is the sum of, and the sum, if it is one.
func summed[T string | []byte](text T) (n int, sum uint32, ok bool) {
	digits := len(text) - sumChars
	if digits <= len(sumMark) || string(text[:len(sumMark)]) != sumMark {
		return 0, 0, false
	}
	for _, c := range []byte(text[len(sumMark):digits]) {
		if n = 10*n + int(c-'0'); c < '0' || c > '9' || n > maxSummed {
			return 0, 0, false
		}
	}
	var chars [sumChars]byte
	var bytes [sumChars]byte
	copy(chars[:], text[digits:])
	decoded, err := sumEncoding.Decode(bytes[:], chars[:])
	return n, binary.BigEndian.Uint32(bytes[:]), err == nil && decoded == 4
}

// isID reports whether text may be that of an id: it has just the bytes that one has.
func isID(text string) bool {
	switch {
	case text == "", text == nobody, strings.HasPrefix(text, sumMark):
		return false
	case kv.Plain(text):
		return true
	}
	return kv.Plain(strings.NewReplacer(":", "", "%", "").Replace(text))
}
