package timeline

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A lane is one counter and the segments that entries with its numbers go to:
// the ring of one owner, or one of its shards.
type lane struct {
	*process
	*knowledge
	base    string  // what its keys begin with
	counter string  // its key
	shapes  []shape // the first is written to; the others were, and are read on
}

// newLane returns the lane whose keys begin with base.
func newLane(p *process, base string, shapes []shape) *lane {
	return &lane{process: p, knowledge: p.recall(base), base: base, counter: base + "#n", shapes: shapes}
}

func (l *lane) shape() shape { return l.shapes[0] }

func (l *lane) key(g shape, segment int64) string {
	return l.base + "#" + g.name + "." + strconv.FormatInt(segment, 10)
}

// segment is what was read of one key.
type segment struct {
	key     string
	version kv.Version // 0: it is absent
	bytes   int        // of the value
	entries []entry
}

// decode returns what a get of the segment i of g answered, without entries
// that do not belong there.
func (l *lane) decode(g shape, i int64, r kv.Result) (segment, error) {
	seg := segment{key: l.key(g, i)}
	if errors.Is(r.Err, kv.ErrNotFound) {
		return seg, nil
	}
	if r.Err != nil {
		return seg, r.Err
	}
	all, err := decodeEntries(r.Value)
	if err != nil {
		return seg, fmt.Errorf("%s: %w", seg.key, err)
	}
	seg.version, seg.bytes, seg.entries = r.Version, len(r.Value), all[:0]
	for _, e := range all {
		if g.segment(g.block(e.stamp)) == i {
			seg.entries = append(seg.entries, e)
		}
	}
	return seg, nil
}

// atOnce is how many keys of a lane are read in one trip at most.
const atOnce = 128

// scan returns the highest stamp in all segments of the lane, each of which
// has to answer.
func (l *lane) scan(ctx context.Context, s kv.Store) (top int64, err error) {
	for _, g := range l.shapes {
		for first := int64(0); first < g.blocks; first += atOnce {
			high, err := l.scanSome(ctx, s, g, first, min(first+atOnce, g.blocks))
			if err != nil {
				return 0, err
			}
			top = max(top, high)
		}
	}
	return top, nil
}

func (l *lane) scanSome(ctx context.Context, s kv.Store, g shape, first, end int64) (top int64, err error) {
	var keys []string
	for i := first; i < end; i++ {
		keys = append(keys, l.key(g, i))
	}
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return 0, err
	}
	for i, r := range results {
		seg, err := l.decode(g, first+int64(i), r)
		if err != nil {
			return 0, err
		}
		top = max(top, highest(seg.entries))
	}
	return top, nil
}
