package timeline

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// An entry is one item of a timeline. It is stored after its length, so that entries can be
// appended to each other. Entries with equal stamp and body are one entry, however often stored.
type entry struct {
	stamp int64  // its number in the ring
	at    int64  // creation time, in Unix milliseconds
	body  []byte // the text of a record's id, or an event
}

// lost reports whether e, the zero entry, replaces unreadable ones.
func (e entry) lost() bool { return e.stamp == 0 }

// lastStamp is the highest number handed out. A counter above it was tampered with.
const lastStamp = kv.MaxNumber - 1<<32

// Stamps above lastStamp mark entries about the ones before them.
const (
	// sumStamp plus a checksum is the stamp of a sum; its time is the number of preceding bytes it
	// covers.
	sumStamp = 1 << 62

	// lostStamp replaces unreadable entries.
	lostStamp = sumStamp | 1<<33
)

// isSum reports whether stamp belongs to a sum or to a lost entry.
func isSum(stamp int64) bool { return stamp == lostStamp || stamp>>32 == sumStamp>>32 }

// seal appends the sum of data to it.
func seal(data []byte) []byte {
	if len(data) == 0 {
		return data
	}
	return entry{stamp: sumStamp | int64(wire.Sum(data)), at: int64(len(data))}.encode(data)
}

// encode appends e to dst.
func (e entry) encode(dst []byte) []byte {
	if e.lost() {
		e.stamp = lostStamp
	}
	var room [2 * binary.MaxVarintLen64]byte
	head := binary.AppendUvarint(room[:0], uint64(e.stamp))
	head = binary.AppendUvarint(head, uint64(max(e.at, 0)))
	dst = slices.Grow(dst, binary.MaxVarintLen32+len(head)+len(e.body))
	dst = binary.AppendUvarint(dst, uint64(len(head)+len(e.body)))
	return append(append(dst, head...), e.body...)
}

// encodeAll returns entries one after another, with their sum.
func encodeAll(entries []entry) []byte {
	size := 16
	for _, e := range entries {
		size += 3*binary.MaxVarintLen32 + len(e.body)
	}
	data := make([]byte, 0, size)
	for _, e := range entries {
		data = e.encode(data)
	}
	return seal(data)
}

// decodeEntry returns the first entry in data and the remaining bytes.
func decodeEntry(data []byte) (e entry, rest []byte, err error) {
	all := wire.Reader{Rest: data}
	size := all.Count("length", 1)
	one := wire.Reader{Rest: all.Rest[:size], Err: all.Err}
	e.stamp = int64(one.Number("stamp", math.MaxInt64))
	e.at = int64(one.Number("time", 1<<62))
	e.body = one.Rest
	if isSum(e.stamp) && len(e.body) > 0 {
		one.Fail("entry")
	}
	return e, all.Rest[size:], one.Err
}

// compare orders entries of one ring from the oldest to the newest.
func (e *entry) compare(other *entry) int {
	return cmp.Or(cmp.Compare(e.stamp, other.stamp), bytes.Compare(e.body, other.body))
}

// highest returns the highest stamp of entries, 0 if there are none.
func highest(entries []entry) int64 {
	var top int64
	for _, e := range entries {
		top = max(top, e.stamp)
	}
	return top
}
