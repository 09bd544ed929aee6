package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A lane is a counter and the segments for entries with its numbers: the ring of one owner, or one
// of its shards.
type lane struct {
	*process
	*knowledge
	base string // what its keys begin with
	laneName
	shape shape
}

// newLane returns the lane with keys prefixed by base.
func newLane(p *process, base string, shape shape) *lane {
	l := makeLane(p, base, shape)
	return &l
}

// makeLane is newLane for who has a place for it.
func makeLane(p *process, base string, shape shape) lane {
	return lane{process: p, knowledge: p.recall(base), base: base, shape: shape}
}

// counterPart stands behind the base of a lane in the key of its counter.
const counterPart = "#n"

func (l *lane) counterKey() string { return l.base + counterPart }

func (l *lane) key(segment int64) string {
	var key strings.Builder
	key.Grow(l.keyBytes())
	l.writeKey(&key, segment)
	return key.String()
}

func (l *lane) writeKey(to *strings.Builder, segment int64) {
	to.WriteString(l.base)
	to.WriteString(segmentPart)
	var room [20]byte
	to.Write(strconv.AppendInt(room[:0], segment, 10))
}

// segmentPart separates the base of a lane from the number of a segment.
const segmentPart = "#s"

// keyBytes returns the maximum length of a key.
func (l *lane) keyBytes() int { return len(l.base) + len(segmentPart) + 6 }

// keysOf returns the keys of segments, and behind them that of the counter if it is wanted.
// They share a text.
func (l *lane) keysOf(segments []int64, counter bool) []string {
	var text strings.Builder
	text.Grow((len(segments) + 1) * l.keyBytes())
	keys := make([]string, 0, len(segments)+1)
	for _, i := range segments {
		begin := text.Len()
		l.writeKey(&text, i)
		keys = append(keys, text.String()[begin:])
	}
	if counter {
		begin := text.Len()
		text.WriteString(l.base)
		text.WriteString(counterPart)
		keys = append(keys, text.String()[begin:])
	}
	return keys
}

// keys returns the keys of the segments from first up to end, exclusive.
func (l *lane) keys(first, end int64) (keys []string) {
	for i := first; i < end; i++ {
		keys = append(keys, l.key(i))
	}
	return keys
}

// segment is a segment as it was read.
type segment struct {
	number  int64
	key     string
	version kv.Version // 0 if the key is absent
	bytes   int        // size of the value
	entries []entry
	strange bool // the value also has entries of a ring of another shape
}

// decode returns the segment i from the result of a get of key, without entries that do not belong
// there. The caller must not change them.
func (l *lane) decode(i int64, key string, r kv.Result) (segment, error) {
	entries, strange, err := l.decoded.entries(key, r, func(e entry) bool { return l.shape.segment(l.shape.block(e.stamp)) == i })
	if err != nil {
		return segment{number: i, key: key}, err
	}
	return segment{i, key, r.Version, len(r.Value), entries, strange}, nil
}

// atOnce bounds the keys of a lane read in one trip.
const atOnce = 128

// scan returns the highest stamp in all segments of the lane.
func (l *lane) scan(ctx context.Context, s kv.Store) (top int64, err error) {
	for first := int64(0); first < l.shape.blocks; first += atOnce {
		high, err := l.scanSome(ctx, s, first, min(first+atOnce, l.shape.blocks))
		if err != nil {
			return 0, err
		}
		top = max(top, high)
	}
	return top, nil
}

func (l *lane) scanSome(ctx context.Context, s kv.Store, first, end int64) (top int64, err error) {
	keys := l.keys(first, end)
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return 0, err
	}
	for i, r := range results {
		seg, err := l.decode(first+int64(i), keys[i], r)
		if err != nil {
			return 0, err
		}
		top = max(top, highest(seg.entries))
	}
	return top, nil
}

// mend removes unreadable bytes from all segments of the lane.
func (l *lane) mend(ctx context.Context, s kv.Store) error {
	for first := int64(0); first < l.shape.blocks; first += atOnce {
		if err := l.mendSome(ctx, s, first, min(first+atOnce, l.shape.blocks)); err != nil {
			return err
		}
	}
	return nil
}

func (l *lane) mendSome(ctx context.Context, s kv.Store, first, end int64) error {
	keys := l.keys(first, end)
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return err
	}
	for i, r := range results {
		for tries := 0; ; tries++ {
			entries, err := decodeKey(keys[i], r)
			if err != nil {
				return err
			}
			if !isDamaged(entries) {
				break
			}
			if tries == pushTries {
				return fmt.Errorf("%s: %w: other processes keep writing to it", keys[i], kv.ErrConflict)
			}
			_, err = kv.One(ctx, s, kv.OpSwap(keys[i], r.Version, encodeAll(withoutLost(entries))))
			if err != nil && !kv.Raced(err) && !errors.Is(err, kv.ErrUnclear) {
				return err
			}
			// Each op has its own result.
			r, _ = kv.One(ctx, s, kv.OpGet(keys[i]))
		}
	}
	return nil
}

// holds reports whether the entry with stamp n and this id is in the lane, or was lapped. count is
// the counter's number, at least 0.
func (l *lane) holds(ctx context.Context, s kv.Store, n int64, id string) (there bool, count int64, err error) {
	all, count, err := l.holdAll(ctx, s, []stamped{{n, id}})
	return err == nil && all[0], count, err
}

type stamped struct {
	n  int64
	id string
}

// holdAll is holds for each of all. It reads each segment once.
func (l *lane) holdAll(ctx context.Context, s kv.Store, all []stamped) (there []bool, count int64, err error) {
	keys, at := []string{l.counterKey()}, make(map[int64]int)
	for _, e := range all {
		i := l.shape.segment(l.shape.block(e.n))
		if _, known := at[i]; !known {
			at[i] = len(keys)
			keys = append(keys, l.key(i))
		}
	}
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, 0, err
	}
	count = max(numberIn(results[0]), 0)
	there = make([]bool, len(all))
	for i, e := range all {
		if there[i] = e.n < l.shape.oldest(count); there[i] {
			continue
		}
		k := l.shape.segment(l.shape.block(e.n))
		seg, err := l.decode(k, keys[at[k]], results[at[k]])
		if err != nil {
			return nil, count, err
		}
		there[i] = slices.ContainsFunc(seg.entries, func(in entry) bool { return in.stamp == e.n && string(in.body) == e.id })
	}
	return there, count, nil
}

// pushTries bounds the tries of each step of a push.
const pushTries = 8

// numberIn returns the number in a counter, or absent or poisoned.
func numberIn(r kv.Result) int64 {
	if r.Err != nil {
		return absent
	}
	n, err := kv.ParseNumber(r.Value)
	if err != nil || n > lastStamp {
		return poisoned
	}
	return n
}

// absent and poisoned represent a counter without a usable number.
const (
	absent   = -1
	poisoned = -2
)
