package timeline

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel"
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
// for later, and what it knows of each lane.
type process struct {
	db     *kvmodel.DB
	atomic bool // a change is one transaction: its numbers may come to nothing

	mu         sync.Mutex // never held during a trip
	young, old map[string]*knowledge
}

// remembered is how many lanes a process remembers at least.
const remembered = 1 << 15

func newProcess(db *kvmodel.DB) *process {
	return &process{
		db: db, atomic: kvmodel.PowersOf(db.Store()).Atomic != nil,
		young: make(map[string]*knowledge),
	}
}

// recall returns what is known of the lane whose keys begin with base.
func (p *process) recall(base string) *knowledge {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.young[base]
	if k != nil {
		return k
	}
	if k = p.old[base]; k == nil {
		k = new(knowledge)
	}
	if len(p.young) >= remembered {
		p.young, p.old = make(map[string]*knowledge), p.young
	}
	p.young[base] = k
	return k
}

// knowledge is what a process knows of a lane: the highest number, which is
// never lowered. It is a hint for readers, and shows writers a counter that has
// gone back.
type knowledge struct {
	highest atomic.Int64
	met     atomic.Bool
	stale   atomic.Int64 // how many entries the last pages passed for ten records
	trimmed atomic.Int64 // the last block whose segment was found or made free of older ones
}

// top returns the highest number known, 0 if there is none.
func (k *knowledge) top() int64 { return k.highest.Load() }

// learn takes note that n was handed out.
func (k *knowledge) learn(n int64) {
	for {
		old := k.highest.Load()
		if n <= old || k.highest.CompareAndSwap(old, n) {
			return
		}
	}
}

// meet returns the highest number known. first: this process has not met the
// lane before, and the caller should look what is in it.
func (k *knowledge) meet() (top int64, first bool) {
	first = !k.met.Load() && k.met.CompareAndSwap(false, true)
	return k.top(), first
}

// forget makes the next one to meet the lane the first again.
func (k *knowledge) forget() { k.met.Store(false) }
