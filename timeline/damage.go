package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Every append to a key ends with a checksum of the appended bytes, so damage is noticed and the
// rest stays readable. Bytes without a matching sum are damaged.

// damageOf returns an ErrCorrupt that names keys, nil if there are none.
func damageOf(keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	slices.Sort(keys)
	return fmt.Errorf("%s: %w: some entries are damaged", strings.Join(slices.Compact(keys), ", "), kvmodel.ErrCorrupt)
}

// isDamaged reports whether some of entries could not be read.
func isDamaged(entries []entry) bool {
	return slices.ContainsFunc(entries, func(e entry) bool { return e.lost() })
}

// withoutLost returns entries without the placeholders of unreadable ones.
func withoutLost(entries []entry) []entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.lost() })
}

// decodeEntries returns the entries in data, which share its memory, without those with impossible
// stamps. A single lost entry replaces each unreadable stretch.
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

// A decoder reads the entries of one key.
type decoder struct {
	data    []byte
	at      int // the next byte to read
	entries []entry

	sure   int   // everything before is verified or lost
	kept   int   // number of entries before sure
	starts []int // offsets of the other entries
}

// add adds e, which ends at next.
func (d *decoder) add(e entry, next int) {
	if d.entries == nil {
		n := 1 + len(d.data)/(next-d.at) // Most are about as long as the first.
		d.entries, d.starts = make([]entry, 0, n), make([]int, 0, n)
	}
	if e.stamp <= lastStamp {
		d.entries, d.starts = append(d.entries, e), append(d.starts, d.at)
	}
	d.at = next
}

// check verifies the entries before the sum e, which ends at next.
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

// loseTo loses what stands before end, and no sum covers.
func (d *decoder) loseTo(end int) {
	if d.at = end; d.sure < end {
		d.lose()
	}
}

// sumAt returns the sum at offset at, if there can be one.
func sumAt(data []byte, at int) (entry, bool) {
	const last = 1 + 8 // offset of the last byte of the stamp
	if at+last >= len(data) || data[at+last] != sumStamp>>56 || data[at+last-1] != 0x80 {
		return entry{}, false
	}
	e, _, err := decodeEntry(data[at:])
	return e, err == nil && isSum(e.stamp) && e.at > 0 && e.at <= int64(at)
}

// keep marks all entries read so far as verified.
func (d *decoder) keep() { d.sure, d.kept, d.starts = d.at, len(d.entries), d.starts[:0] }

// lose replaces all unverified entries with a lost one.
func (d *decoder) lose() {
	d.entries = d.entries[:d.kept]
	if d.kept == 0 || !d.entries[d.kept-1].lost() {
		d.entries = append(d.entries, entry{})
	}
	d.keep()
}

// skip goes on after damage, at the start of the next bytes covered by a sum.
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

// decodeKey returns the entries in the result of a get of key.
func decodeKey(_ string, r kv.Result) ([]entry, error) {
	if errors.Is(r.Err, kv.ErrNotFound) {
		return nil, nil
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return decodeEntries(r.Value), nil
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
