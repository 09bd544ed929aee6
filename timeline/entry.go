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
	"strings"
	"unsafe"

	"github.com/ringtree/ringtree/internal/kept"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// An entry is an item of a timeline, stored after its length. Entries with equal stamp and body are
// one entry. Every append ends with a checksum; bytes without one are damaged.
type entry struct {
	stamp int64
	at    int64  // in Unix milliseconds
	body  []byte // the id of a record, or an event
}

// lost: e replaces unreadable entries.
func (e entry) lost() bool { return e.stamp == 0 }

// lastStamp is the highest number handed out.
const lastStamp = kv.MaxNumber - 1<<32

const (
	sumStamp  = 1 << 62          // plus a checksum of as many preceding bytes as its time says
	lostStamp = sumStamp | 1<<33 // replaces unreadable entries
)

func isSum(stamp int64) bool { return stamp == lostStamp || stamp>>32 == sumStamp>>32 }

func seal(data []byte) []byte {
	if len(data) == 0 {
		return data
	}
	return entry{stamp: sumStamp | int64(wire.Sum(data)), at: int64(len(data))}.encode(data)
}

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

func (e *entry) compare(other *entry) int {
	return cmp.Or(cmp.Compare(e.stamp, other.stamp), bytes.Compare(e.body, other.body))
}

func highest(entries []entry) int64 {
	var top int64
	for _, e := range entries {
		top = max(top, e.stamp)
	}
	return top
}

func damageOf(keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	slices.Sort(keys)
	return fmt.Errorf("%s: %w: some entries are damaged", strings.Join(slices.Compact(keys), ", "), kvmodel.ErrCorrupt)
}

func isDamaged(entries []entry) bool {
	return slices.ContainsFunc(entries, func(e entry) bool { return e.lost() })
}

func withoutLost(entries []entry) []entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.lost() })
}

// decodeEntries returns the entries in data, which share its memory, with a lost entry for each
// unreadable stretch, and without impossible stamps.
func decodeEntries(data []byte) []entry {
	d := decoder{data: data}
	for d.at < len(data) {
		e, rest, err := decodeEntry(data[d.at:])
		switch {
		case err != nil:
			d.skip()
		case e.stamp == lostStamp:
			d.add(entry{}, len(data)-len(rest))
		case isSum(e.stamp):
			d.check(e, len(data)-len(rest))
		default:
			d.add(e, len(data)-len(rest))
		}
	}
	d.loseTo(len(data))
	return d.entries
}

type decoder struct {
	data    []byte
	at      int
	entries []entry

	sure   int   // everything before is verified or lost
	kept   int   // entries before sure
	starts []int // offsets of the other entries
}

func (d *decoder) add(e entry, next int) {
	if d.entries == nil {
		n := 1 + len(d.data)/(next-d.at)
		d.entries, d.starts = make([]entry, 0, n), make([]int, 0, n)
	}
	if e.stamp <= lastStamp {
		d.entries, d.starts = append(d.entries, e), append(d.starts, d.at)
	}
	d.at = next
}

func (d *decoder) check(e entry, next int) {
	from := d.at - int(min(e.at, int64(len(d.data)+1)))
	first, fits := slices.BinarySearch(d.starts, from)
	if !fits || from < d.sure || d.sum(from, d.at) != e.stamp {
		d.skip()
		return
	}
	if from == d.sure {
		d.at = next
		d.keep()
		return
	}
	summed := slices.Clone(d.entries[d.kept+first:])
	d.entries, d.starts = d.entries[:d.kept+first], d.starts[:first]
	d.loseTo(from)
	d.entries = append(d.entries, summed...)
	d.at = next
	d.keep()
}

func (d *decoder) sum(from, end int) int64 {
	return sumStamp | int64(wire.Sum(d.data[from:end]))
}

func (d *decoder) loseTo(end int) {
	if d.at = end; d.sure < end {
		d.lose()
	}
}

func sumAt(data []byte, at int) (entry, bool) {
	const last = 1 + 8 // offset of the stamp's last byte
	if at+last >= len(data) || data[at+last] != sumStamp>>56 || data[at+last-1] != 0x80 {
		return entry{}, false
	}
	e, _, err := decodeEntry(data[at:])
	return e, err == nil && isSum(e.stamp) && e.at > 0 && e.at <= int64(at)
}

func (d *decoder) keep() { d.sure, d.kept, d.starts = d.at, len(d.entries), d.starts[:0] }

func (d *decoder) lose() {
	d.entries = d.entries[:d.kept]
	if d.kept == 0 || !d.entries[d.kept-1].lost() {
		d.entries = append(d.entries, entry{})
	}
	d.keep()
}

// skip continues after damage, at the next bytes with a valid sum.
func (d *decoder) skip() {
	for at := d.sure + 1; at < len(d.data); at++ {
		e, ok := sumAt(d.data, at)
		if from := at - int(e.at); ok && from > d.sure && d.sum(from, at) == e.stamp {
			d.at = from
			d.lose()
			return
		}
	}
	d.at = len(d.data)
	d.lose()
}

func entriesIn(r kv.Result) ([]entry, error) {
	if errors.Is(r.Err, kv.ErrNotFound) {
		return nil, nil
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return decodeEntries(r.Value), nil
}

func readKey(ctx context.Context, s kv.Store, key string) ([]entry, kv.Version, error) {
	r, err := kv.One(ctx, s, kv.OpGet(key))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, 0, err
	}
	entries, err := entriesIn(r)
	return entries, r.Version, err
}

type segment struct {
	number  int64
	key     string
	version kv.Version // 0: absent
	bytes   int        // of the value
	entries []entry
	strange bool // it also has entries of another shape
}

type decoded struct {
	kept.Recent[string, decodedKey]
}

// decodedKey is immutable.
type decodedKey struct {
	value   []byte
	entries []entry
	strange bool
}

const (
	maxDecoded      = 128
	maxDecodedBytes = 16 << 10 // of a value
)

func newDecoded() decoded { return decoded{kept.Recent[string, decodedKey]{Limit: maxDecoded / 2}} }

// entries leaves out entries that do not belong under key. Those it returns are shared.
func (d *decoded) entries(key string, r kv.Result, belongs func(entry) bool) (all []entry, strange bool, err error) {
	isStrange := func(e entry) bool { return !e.lost() && !belongs(e) }
	if shared, ok := r.Decoded.([]entry); ok {
		if slices.ContainsFunc(shared, isStrange) {
			return slices.DeleteFunc(slices.Clone(shared), isStrange), true, nil
		}
		return shared, false, nil
	}
	seen, ok := d.Get(key)
	if ok && r.Err == nil && bytes.Equal(seen.value, r.Value) {
		return seen.entries, seen.strange, nil
	}
	if all, err = entriesIn(r); err != nil {
		return nil, false, err
	}
	n := len(all)
	all = slices.DeleteFunc(all, isStrange)
	strange = len(all) < n
	if r.Err == nil && len(r.Value) <= maxDecodedBytes {
		d.Put(strings.Clone(key), decodedKey{r.Value, all, strange}, 1)
	}
	return all, strange, nil
}

func decodeKept(value []byte) (any, int, error) {
	all := decodeEntries(value)
	return all, cap(all) * int(unsafe.Sizeof(entry{})), nil
}
