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
// of a chunk, is of what never changes in its header.

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

// scan is what is left of the bytes of a chunk.
type scan struct {
	rest []byte
	bad  bool
}

func (s *scan) number() uint64 {
	n, size := binary.Uvarint(s.rest)
	s.take(size)
	return n
}

// take returns the next n bytes, none if there are not as many.
func (s *scan) take(n int) []byte {
	if s.bad = s.bad || n <= 0 || n > len(s.rest); s.bad {
		s.rest = nil
		return nil
	}
	taken := s.rest[:n]
	s.rest = s.rest[n:]
	return taken
}

func (s *scan) text() []byte { return s.take(int(min(s.number(), 1<<30))) }

// isSound reports whether data is a chunk in which all is under a sum and as it was.
func isSound(data []byte) bool {
	s := scan{rest: data}
	s.take(1 + 8 + 8)
	s.number()
	fixed := data[:len(data)-len(s.rest)]
	s.number()
	for len(s.rest) > 0 {
		n, sum, ok := summed(s.text())
		under := s.rest
		for range n {
			s.text()
		}
		if under = under[:len(under)-len(s.rest)]; n == 0 {
			under = fixed
		}
		if !ok || s.bad || wire.Sum(under) != sum {
			return false
		}
	}
	return !s.bad
}
