package memberlog

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Upkeep is started by readers that find a segment in need of it, and by writers, which look at the
// segment they write to once in a few KiB. It runs in the background, and may be left undone.

func (l *Logs) lookSometimes(place string, n name, bytes int) {
	if bytes >= l.Limits.Look || kv.Random()%uint64(l.Limits.Look/max(bytes, 1)) == 0 {
		l.tendSoon(place, n)
	}
}

// tending holds the segments to tend: those of one list in turn, since each may change the head.
type tending struct {
	mu     sync.Mutex
	places map[string]*wanted
}

type wanted struct {
	names []name
	busy  bool // a goroutine is tending them
}

// Segments and lists beyond these limits wait until they are seen again.
const (
	maxWanted = 256 // segments of a list
	maxLists  = 4096
)

func (t *tending) want(place string, n name) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.places[place]
	if w == nil {
		if len(t.places) == maxLists {
			return
		}
		if t.places == nil {
			t.places = make(map[string]*wanted)
		}
		w = new(wanted)
		t.places[place] = w
	}
	if len(w.names) < maxWanted && !slices.Contains(w.names, n) {
		w.names = append(w.names, n)
	}
}

func (t *tending) leave(place string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.places[place]; w != nil && !w.busy {
		delete(t.places, place)
	}
}

func (t *tending) begin(place string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.places[place]
	if w == nil || w.busy {
		return false
	}
	w.busy = true
	return true
}

func (t *tending) next(place string, enough bool) (n name, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.places[place]
	if enough || len(w.names) == 0 {
		delete(t.places, place)
		return n, false
	}
	n, w.names = w.names[0], w.names[1:]
	return n, true
}

func (l *Logs) tendSoon(place string, n name) {
	l.tending.want(place, n)
	if !l.Soon(func(ctx context.Context) error { return l.tendWanted(ctx, place) }) {
		l.tending.leave(place)
	}
}

func (l *Logs) tendWanted(ctx context.Context, place string) error {
	if !l.tending.begin(place) {
		return nil
	}
	var err error
	for {
		n, ok := l.tending.next(place, err != nil || ctx.Err() != nil)
		if !ok {
			return err
		}
		err = l.failure(place, l.tend(ctx, place, n))
	}
}

func (l *Logs) tend(ctx context.Context, place string, n name) error {
	if atomic := kv.PowersOf(l.Store).Atomic; atomic != nil {
		return atomic(ctx, func(s kv.Store) error { return l.tendOn(ctx, s, place, n) })
	}
	return l.tendOn(ctx, l.Store, place, n)
}

const maxFolds = 3

func (l *Logs) tendOn(ctx context.Context, s kv.Store, place string, n name) error {
	var sure certain
	if l.Confirm != nil {
		// The segment is read again afterwards: the longer a fold takes, the more others append.
		u, err := l.look(ctx, s, place, n)
		if err != nil || u.do == nothing {
			return err
		}
		sure = l.examine(ctx, s, place, u.rows)
	}
	for try := 1; ; try++ {
		u, err := l.look(ctx, s, place, n)
		switch {
		case err != nil || u.do == nothing:
			return err
		case u.do == join:
			return l.join(ctx, s, place, u.head, u.at, sure)
		case u.do == replace || u.do == fold && try > maxFolds && l.overgrown(u.segment, u.rows):
			return l.rollWith(ctx, s, place, sure, n)
		case u.do != fold || try > maxFolds:
			return nil
		}
		err = l.foldInPlace(ctx, s, u.head, &u.get, l.fold(u.rows, sure))
		if !retryable(err) {
			return err
		}
	}
}

type upkept struct {
	get     kv.Op
	head    *head
	at      int // in head
	segment *segment
	rows    []row // folded
	do      action
}

func (l *Logs) look(ctx context.Context, s kv.Store, place string, n name) (u upkept, err error) {
	ops := []kv.Op{kv.OpGet(l.key(place, n)), kv.OpGet(l.Key(place))}
	if err = s.Do(ctx, ops); err != nil {
		return u, err
	}
	u.get = ops[0]
	if u.head, err = l.decodeHead(place, ops[1].Result); err != nil {
		return u, err
	}
	if u.at = u.head.indexOf(n); u.at < 0 || absent(&u.get) {
		return u, nil
	}
	if u.segment, err = l.decodeSegment(&u.get); err != nil {
		return u, err
	}
	u.rows = u.segment.newest()
	u.do = l.upkeep(u.head, u.at, u.segment, u.rows)
	l.reportOverdue(place)
	return u, nil
}

// foldInPlace replaces the segment read by get by rows, or drops it, unless it has changed.
func (l *Logs) foldInPlace(ctx context.Context, s kv.Store, h *head, get *kv.Op, rows []row) error {
	op := kv.OpSwap(get.Key, get.Result.Version, encodeSegment(rows))
	if l.drops(h, get, rows) {
		op = kv.OpDrop(get.Key, get.Result.Version)
	}
	_, err := kv.One(ctx, s, op)
	return err
}

type action int

const (
	nothing action = iota
	fold
	replace
	join
)

func (l *Logs) upkeep(h *head, at int, g *segment, rows []row) action {
	p := &h.parts[at]
	folded := baseSize(rows)
	switch {
	case g.retired:
		return nothing
	case g.sealed, p.rolling, folded > l.Limits.splitAt(h) && p.depth < maxDepth, p.depth < l.Hot:
		return replace
	case l.saves(g, rows, folded), l.vanishes(h, rows):
		return fold
	case l.neighbor(h, at) >= 0 && folded+l.guess(h, l.neighbor(h, at), folded, len(rows)) < l.Limits.Merge:
		return join
	}
	return nothing
}

// saves reports whether a fold to folded bytes, less forgettable entries, is worthwhile.
func (l *Logs) saves(g *segment, rows []row, folded int) bool {
	now := l.now()
	for i := range rows {
		if rows[i].forgettable(now, l.Limits.Grace) {
			folded -= len(rows[i].ID) + 8
		}
	}
	return g.size-segmentHead-folded > max(min(folded/2, l.Limits.Split/4), l.Limits.Slack)
}

func (l *Logs) overgrown(g *segment, rows []row) bool {
	return g.size > 2*baseSize(rows)+l.Limits.Slack
}

func (l *Logs) neighbor(h *head, at int) int {
	p := &h.parts[at]
	if p.depth == 0 || p.depth <= l.Hot {
		return -1
	}
	other := at + 1
	if p.from>>(64-p.depth)&1 == 1 {
		other = at - 1
	}
	if h.parts[other].depth != p.depth {
		return -1
	}
	return other
}

func (l *Logs) guess(h *head, other, size, members int) int {
	return int(h.seen[other].Load()) * size / max(members, 1)
}

func (l *Logs) join(ctx context.Context, s kv.Store, place string, h *head, at int, sure certain) error {
	first := min(at, l.neighbor(h, at))
	names := []name{h.parts[first].name, h.parts[first+1].name}
	size := 0
	for _, n := range names {
		r, err := kv.One(ctx, s, kv.OpGet(l.key(place, n)))
		if errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		size += len(r.Value)
	}
	if size > 2*l.Limits.Merge {
		return nil
	}
	return l.rollWith(ctx, s, place, sure, names...)
}
