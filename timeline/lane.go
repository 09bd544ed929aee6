package timeline

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ringtree/ringtree/internal/kept"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A lane is a counter and its segments: the ring of one owner, or a shard of it.
type lane struct {
	*process
	*knowledge
	base string
	laneName
	shape shape
}

type laneName struct {
	owner string
	shard int
}

func (n laneName) compare(other laneName) int {
	return cmp.Or(cmp.Compare(n.owner, other.owner), cmp.Compare(n.shard, other.shard))
}

func newLane(p *process, base string, shape shape) *lane {
	l := makeLane(p, base, shape)
	return &l
}

// makeLane allocates nothing for the lane.
func makeLane(p *process, base string, shape shape) lane {
	return lane{process: p, knowledge: p.recall(base), base: base, shape: shape}
}

const (
	counterPart = "#n"
	segmentPart = "#s"
)

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

func (l *lane) keyBytes() int { return len(l.base) + len(segmentPart) + 6 }

// The keys returned share a text.
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

func (l *lane) keys(first, end int64) (keys []string) {
	for i := first; i < end; i++ {
		keys = append(keys, l.key(i))
	}
	return keys
}

// decode leaves out entries that do not belong in segment i. Its entries are shared.
func (l *lane) decode(i int64, key string, r kv.Result) (segment, error) {
	entries, strange, err := l.decoded.entries(key, r, func(e entry) bool { return l.shape.segment(l.shape.block(e.stamp)) == i })
	if err != nil {
		return segment{number: i, key: key}, err
	}
	return segment{i, key, r.Version, len(r.Value), entries, strange}, nil
}

const atOnce = 128

func (l *lane) each(ctx context.Context, s kv.Store, first, end int64, f func(i int64, key string, r kv.Result) error) error {
	for ; first < end; first += atOnce {
		keys := l.keys(first, min(first+atOnce, end))
		results, err := kv.GetAll(ctx, s, keys...)
		if err != nil {
			return err
		}
		for i, r := range results {
			if err := f(first+int64(i), keys[i], r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lane) scan(ctx context.Context, s kv.Store, first, end int64) (top int64, err error) {
	err = l.each(ctx, s, first, end, func(i int64, key string, r kv.Result) error {
		seg, err := l.decode(i, key, r)
		top = max(top, highest(seg.entries))
		return err
	})
	return top, err
}

func (l *lane) scanAll(ctx context.Context, s kv.Store) (int64, error) {
	return l.scan(ctx, s, 0, l.shape.blocks)
}

// holds reports whether the entry is in the lane, or was lapped, and returns the counter's number,
// at least 0.
func (l *lane) holds(ctx context.Context, s kv.Store, n int64, id string) (there bool, count int64, err error) {
	all, count, err := l.holdAll(ctx, s, []stamped{{n, id}})
	return err == nil && all[0], count, err
}

type stamped struct {
	n  int64
	id string
}

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

const (
	absent   = -1
	poisoned = -2
)

type process struct {
	db      plug.DB
	atomic  bool // a change is one transaction, so numbers may be rolled back
	sparing bool // entries are large, so readers read only what they must

	lanes   kept.Recent[string, *knowledge]
	decoded decoded
}

func newProcess(db plug.DB) *process {
	return &process{db: db, atomic: kv.PowersOf(db.Store()).Atomic != nil, decoded: newDecoded()}
}

func (p *process) recall(base string) *knowledge {
	return p.lanes.GetOr(base, func() *knowledge { return new(knowledge) })
}

// knowledge is a process's memory of a lane. The highest number is a hint for readers, and shows
// writers that a counter went back.
type knowledge struct {
	highest atomic.Int64
	met     atomic.Bool
	stale   atomic.Int64 // entries that recent pages passed per ten records
	trimmed atomic.Int64 // first stamp of the last block whose segment has no older blocks
}

func (k *knowledge) top() int64 { return k.highest.Load() }

func (k *knowledge) learn(n int64) {
	for {
		old := k.highest.Load()
		if n <= old || k.highest.CompareAndSwap(old, n) {
			return
		}
	}
}

// meet returns the highest known number. On first use of the lane, the caller must read its
// entries, or call forget.
func (k *knowledge) meet() (top int64, first bool) {
	first = !k.met.Load() && k.met.CompareAndSwap(false, true)
	return k.top(), first
}

func (k *knowledge) forget() { k.met.Store(false) }
