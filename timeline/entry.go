package timeline

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// An entry is one thing in a timeline. It tells its own length, so that entries
// can be appended to each other. Two with the same stamp and body are the same
// entry, however often it stands there.
type entry struct {
	stamp int64  // its number in the ring
	at    int64  // when it was made, in unix milliseconds
	body  []byte // the text of a record's id, or an event
}

// lastStamp is the highest number that is handed out. A counter above it has
// been tampered with.
const lastStamp = kv.MaxNumber - 1<<32

// encode appends e to dst.
func (e entry) encode(dst []byte) []byte {
	var room [2 * binary.MaxVarintLen64]byte
	head := binary.AppendUvarint(room[:0], uint64(e.stamp))
	head = binary.AppendUvarint(head, uint64(max(e.at, 0)))
	dst = slices.Grow(dst, binary.MaxVarintLen32+len(head)+len(e.body))
	dst = binary.AppendUvarint(dst, uint64(len(head)+len(e.body)))
	return append(append(dst, head...), e.body...)
}

// encodeAll returns entries one after another.
func encodeAll(entries []entry) []byte {
	size := 0
	for _, e := range entries {
		size += 3*binary.MaxVarintLen32 + len(e.body)
	}
	data := make([]byte, 0, size)
	for _, e := range entries {
		data = e.encode(data)
	}
	return data
}

// decodeEntries returns the entries in data, of which they are parts. Those
// with a stamp that is never handed out are left out.
func decodeEntries(data []byte) ([]entry, error) {
	entries := make([]entry, 0, len(data)/24)
	for rest := data; len(rest) > 0; {
		e, size, ok := decodeEntry(rest)
		if !ok {
			return nil, fmt.Errorf("%w: entry at byte %d of %d", kvmodel.ErrCorrupt, len(data)-len(rest), len(data))
		}
		if e.stamp <= lastStamp {
			entries = append(entries, e)
		}
		rest = rest[size:]
	}
	return entries, nil
}

func decodeEntry(data []byte) (e entry, size int, ok bool) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return e, 0, false
	}
	rest := data[n : n+int(length)]
	stamp, a := binary.Uvarint(rest)
	if a <= 0 {
		return e, 0, false
	}
	at, b := binary.Uvarint(rest[a:])
	if b <= 0 || stamp > 1<<63-1 || at > 1<<62 {
		return e, 0, false
	}
	return entry{int64(stamp), int64(at), rest[a+b:]}, n + int(length), true
}

// compare orders entries of one ring from the oldest to the newest.
func (e entry) compare(other entry) int {
	return cmp.Or(cmp.Compare(e.stamp, other.stamp), bytes.Compare(e.body, other.body))
}

// highest returns the highest stamp among entries, 0 if there is none.
func highest(entries []entry) int64 {
	var top int64
	for _, e := range entries {
		top = max(top, e.stamp)
	}
	return top
}
