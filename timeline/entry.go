package timeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// An entry is one thing in a timeline. Its length stands before it, so that entries
// can be appended to each other. Entries with the same stamp and body are one entry,
// however often it is stored.
type entry struct {
	stamp int64  // its number in the ring
	at    int64  // when it was made, in Unix milliseconds
	body  []byte // the text of a record's id, or an event
}

// lastStamp is the highest number that is handed out. A counter above it was
// tampered with.
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

// decodeEntries returns the entries in data, of which they are parts, without those
// whose stamp is never handed out.
func decodeEntries(data []byte) ([]entry, error) {
	entries := make([]entry, 0, len(data)/24)
	for rest := data; len(rest) > 0; {
		e, next, err := decodeEntry(rest)
		if err != nil {
			return nil, fmt.Errorf("entry at byte %d of %d: %w", len(data)-len(rest), len(data), err)
		}
		if e.stamp <= lastStamp {
			entries = append(entries, e)
		}
		rest = next
	}
	return entries, nil
}

// decodeEntry returns the first entry in data and what follows it.
func decodeEntry(data []byte) (e entry, rest []byte, err error) {
	all := wire.Reader{Rest: data}
	size := all.Count("length", 1)
	one := wire.Reader{Rest: all.Rest[:size], Err: all.Err}
	e.stamp = int64(one.Number("stamp", math.MaxInt64))
	e.at = int64(one.Number("time", 1<<62))
	e.body = one.Rest
	return e, all.Rest[size:], one.Err
}

// decodeKey returns the entries that a get of key answered.
func decodeKey(key string, r kv.Result) ([]entry, error) {
	if errors.Is(r.Err, kv.ErrNotFound) {
		return nil, nil
	}
	if r.Err != nil {
		return nil, r.Err
	}
	entries, err := decodeEntries(r.Value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return entries, nil
}

// readKey returns the entries under key and its version, 0 if it is absent.
func readKey(ctx context.Context, s kv.Store, key string) ([]entry, kv.Version, error) {
	r, err := kv.One(ctx, s, kv.OpGet(key))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, 0, err
	}
	entries, err := decodeKey(key, r)
	return entries, r.Version, err
}

// compare orders entries of one ring from the oldest to the newest.
func (e entry) compare(other entry) int {
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
