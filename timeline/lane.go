package timeline

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/ringtree/ringtree/kvmodel"
)

// A lane is one counter and the segments that entries with its numbers go to:
// the ring of one owner, or one of its shards.
type lane struct {
	*process
	base   string  // what its keys begin with
	shapes []shape // the first is written to; the others were, and are read on
}

func (l *lane) shape() shape { return l.shapes[0] }

func (l *lane) counter() string { return l.base + "#n" }

func (l *lane) key(g shape, segment int64) string {
	return l.base + "#" + g.name() + "." + strconv.FormatInt(segment, 10)
}

// segment is what was read of one key.
type segment struct {
	key     string
	version kvmodel.Version // 0: it is absent
	entries []entry
}

// decode returns what a get of the segment i of g answered, without entries
// that do not belong there.
func (l *lane) decode(g shape, i int64, r kvmodel.Result) (segment, error) {
	seg := segment{key: l.key(g, i)}
	if errors.Is(r.Err, kvmodel.ErrNotFound) {
		return seg, nil
	}
	if r.Err != nil {
		return seg, r.Err
	}
	all, err := decodeEntries(r.Value)
	if err != nil {
		return seg, fmt.Errorf("%s: %w", seg.key, err)
	}
	seg.version, seg.entries = r.Version, all[:0]
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
func (l *lane) scan(ctx context.Context, s kvmodel.Store) (top int64, err error) {
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

func (l *lane) scanSome(ctx context.Context, s kvmodel.Store, g shape, first, end int64) (top int64, err error) {
	var keys []string
	for i := first; i < end; i++ {
		keys = append(keys, l.key(g, i))
	}
	results, err := kvmodel.GetAll(ctx, s, keys...)
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

// process is what a process has for the lanes of one index: the store, work
// for later, and the highest number it knows of each lane, which is never
// lowered. That number is a hint for readers, and shows writers a counter that
// has gone back.
type process struct {
	db     *kvmodel.DB
	atomic bool // a change is one transaction: its numbers may come to nothing

	mu         sync.Mutex // never held during a trip
	young, old map[string]int64
}

// remembered is how many lanes a process remembers at least.
const remembered = 1 << 15

func newProcess(db *kvmodel.DB) *process {
	return &process{
		db: db, atomic: kvmodel.PowersOf(db.Store()).Atomic != nil,
		young: make(map[string]int64),
	}
}

// top returns the highest number known of the lane, 0 if there is none.
func (l *lane) top() int64 {
	n, _ := l.remember(0)
	return n
}

// learn takes note that n was handed out.
func (l *lane) learn(n int64) { l.remember(n) }

// meet returns the highest number known of the lane. first: this process has
// not met the lane before, and the caller should look what is in it.
func (l *lane) meet() (top int64, first bool) {
	top, known := l.remember(0)
	return top, !known
}

// forget makes the next one to meet the lane the first again.
func (l *lane) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.young, l.base)
	delete(l.old, l.base)
}

// remember takes note of n and returns the highest number known, and whether
// the lane was known at all.
func (l *lane) remember(n int64) (top int64, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	top, known = l.young[l.base]
	if !known {
		top, known = l.old[l.base]
	}
	top = max(top, n)
	if len(l.young) >= remembered {
		l.young, l.old = make(map[string]int64), l.young
	}
	l.young[l.base] = top
	return top, known
}
