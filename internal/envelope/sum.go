package envelope

import (
	"encoding/binary"

	"github.com/ringtree/ringtree/internal/wire"
)

// The sum of a record is the first of its marks, and has the rev for which it was made.
// A release that does not know it keeps it as the mark of an index that it does not have.
// So a sum of an earlier rev is one that such a release has left behind: it says nothing of
// the record any more.

// sumMark is the name of that mark. No index is named so, and if the number of marks is
// damaged to be 0, it is no list of places either: it begins with a number of bytes that
// no value has.
const sumMark = "\xff\xff\x7f"

const sumBytes = 4

// sum is what the mark says.
type sum struct {
	rev uint64
	at  int // where it stands; 0: there is none
}

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

// readSum returns what the mark with that value says, which ends at end.
func readSum(r *wire.Reader, value []byte, end int) sum {
	in := wire.Reader{Rest: value}
	s := sum{rev: in.Number("rev of the sum", MaxRev), at: end - sumBytes}
	if len(in.Rest) != sumBytes {
		r.Fail("sum")
	}
	return s
}

// fits reports whether data, whose rev stands between revAt and revEnd, is what the sum
// was made of, or what a release that does not know it has written since.
func (s sum) fits(data []byte, revAt, revEnd int, e *Envelope) bool {
	want := binary.BigEndian.Uint32(data[s.at:])
	after := data[s.at+sumBytes:]
	if s.rev == e.Rev {
		return wire.Sum(data[:s.at], after) == want
	}
	if s.rev > e.Rev || len(e.Tries) == 0 {
		return s.rev < e.Rev
	}
	// To raise the rev changes the distances of the changes before it, too.
	onlyRev := wire.Sum(data[:revAt], binary.AppendUvarint(nil, s.rev), data[revEnd:s.at], after) == want
	return !onlyRev
}
