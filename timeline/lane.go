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

// A lane is a counter and the segments for entries with its numbers: the ring of one
// owner, or one of its shards.
type lane struct {
	*process
	*knowledge
	base       string // what its keys begin with
	counterKey string // its key
	laneName
	shapes
}

// newLane returns the lane whose keys begin with base.
func newLane(p *process, base string, shapes shapes) *lane {
	return &lane{process: p, knowledge: p.recall(base), base: base, counterKey: base + "#n", shapes: shapes}
}

// in returns the lane with other shapes.
func (l *lane) in(shapes shapes) *lane {
	other := *l
	other.shapes = shapes
	return &other
}

func (l *lane) key(g shape, segment int64) string {
	var key strings.Builder
	key.Grow(l.keyBytes(g))
	l.writeKey(&key, g, segment)
	return key.String()
}

func (l *lane) writeKey(to *strings.Builder, g shape, segment int64) {
	to.WriteString(l.base)
	to.WriteByte('#')
	to.WriteString(g.name)
	to.WriteByte('.')
	var room [20]byte
	to.Write(strconv.AppendInt(room[:0], segment, 10))
}

// keyBytes is room for a key of shape g.
func (l *lane) keyBytes(g shape) int { return len(l.base) + len(g.name) + len("#.") + 6 }

// keysOf returns the keys of segments, which share a text, and room for one more.
func (l *lane) keysOf(refs []segmentRef) []string {
	var text strings.Builder
	text.Grow(len(refs) * l.keyBytes(l.shape()))
	keys := make([]string, 0, len(refs)+1)
	for _, at := range refs {
		begin := text.Len()
		l.writeKey(&text, l.all[at.shape], at.segment)
		keys = append(keys, text.String()[begin:])
	}
	return keys
}

// segment is what was read of a key.
type segment struct {
	segmentRef
	key     string
	version kv.Version // 0 if the key is absent
	bytes   int        // of the value
	entries []entry
}

// decode returns the segment at, which a get of key answered, without entries that do
// not belong there. The caller must not change them.
func (l *lane) decode(at segmentRef, key string, r kv.Result) (segment, error) {
	g := l.all[at.shape]
	entries, err := l.decoded.entries(key, r, func(e entry) bool { return g.segment(g.block(e.stamp)) == at.segment })
	if err != nil {
		return segment{segmentRef: at, key: key}, err
	}
	return segment{at, key, r.Version, len(r.Value), entries}, nil
}

// atOnce bounds how many keys of a lane one trip reads.
const atOnce = 128

// scan returns the highest stamp in all segments of the lane.
func (l *lane) scan(ctx context.Context, s kv.Store) (top int64, err error) {
	for k, g := range l.all {
		for first := int64(0); first < g.blocks; first += atOnce {
			high, err := l.scanSome(ctx, s, k, first, min(first+atOnce, g.blocks))
			if err != nil {
				return 0, err
			}
			top = max(top, high)
		}
	}
	return top, nil
}

// scanSome is scan for some segments of the kth shape.
func (l *lane) scanSome(ctx context.Context, s kv.Store, k int, first, end int64) (top int64, err error) {
	var keys []string
	for i := first; i < end; i++ {
		keys = append(keys, l.key(l.all[k], i))
	}
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return 0, err
	}
	for i, r := range results {
		seg, err := l.decode(segmentRef{k, first + int64(i)}, keys[i], r)
		if err != nil {
			return 0, err
		}
		top = max(top, highest(seg.entries))
	}
	return top, nil
}

// mend takes what cannot be read out of all segments of the lane.
func (l *lane) mend(ctx context.Context, s kv.Store) error {
	for _, g := range l.all {
		for first := int64(0); first < g.blocks; first += atOnce {
			if err := l.mendSome(ctx, s, g, first, min(first+atOnce, g.blocks)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lane) mendSome(ctx context.Context, s kv.Store, g shape, first, end int64) error {
	var keys []string
	for i := first; i < end; i++ {
		keys = append(keys, l.key(g, i))
	}
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
				return fmt.Errorf("%s: %w: others write to it", keys[i], kv.ErrConflict)
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

// holds reports whether the entry with stamp n and this id is in the lane, or was
// lapped. With lasting, it has to be where it stays as long as new entries do.
// count is the counter's number, at least 0.
func (l *lane) holds(ctx context.Context, s kv.Store, n int64, id string, lasting bool) (there bool, count int64, err error) {
	all, count, err := l.holdAll(ctx, s, []stamped{{n, id}}, lasting)
	return err == nil && all[0], count, err
}

// stamped is the id of a record and its stamp.
type stamped struct {
	n  int64
	id string
}

// holdAll is holds for each of all, and reads a segment once for those that belong there.
func (l *lane) holdAll(ctx context.Context, s kv.Store, all []stamped, lasting bool) (there []bool, count int64, err error) {
	keys, at := []string{l.counterKey}, make(map[segmentRef]int)
	for _, e := range all {
		for k, g := range l.all {
			ref := segmentRef{k, g.segment(g.block(e.n))}
			if _, known := at[ref]; !known {
				at[ref] = len(keys)
				keys = append(keys, l.key(g, ref.segment))
			}
		}
	}
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, 0, err
	}
	count = max(numberIn(results[0]), 0)
	there = make([]bool, len(all))
	for i, e := range all {
		there[i] = e.n < l.shape().oldest(count)
		for k, g := range l.all {
			if there[i] || lasting && !l.lasts[k] {
				continue
			}
			ref := segmentRef{k, g.segment(g.block(e.n))}
			seg, err := l.decode(ref, keys[at[ref]], results[at[ref]])
			if err != nil {
				return nil, count, err
			}
			there[i] = slices.ContainsFunc(seg.entries, func(in entry) bool { return in.stamp == e.n && string(in.body) == e.id })
		}
	}
	return there, count, nil
}
