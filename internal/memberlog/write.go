package memberlog

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Ticket is the location of an appended entry. Unless the store refuses an append after a seal,
// Settle it before the entry is acknowledged.
type Ticket struct {
	name    name
	settled bool
	began   bool
}

// Settled reports whether the entry is before any seal.
func (t Ticket) Settled() bool { return t.settled }

// Began reports whether the entry started its list.
func (t Ticket) Began() bool { return t.began }

// Write adds e to place's list. One trip if the store refuses to append after a seal and the head
// is remembered; otherwise up to two more.
func (l *Logs) Write(ctx context.Context, s kv.Store, place string, e Entry) error {
	t, err := l.Append(ctx, s, place, e)
	if err != nil {
		return err
	}
	return l.Settle(ctx, s, place, e, &t)
}

func (l *Logs) Append(ctx context.Context, s kv.Store, place string, e Entry) (Ticket, error) {
	if err := e.check(); err != nil {
		return Ticket{}, l.failure(place, err)
	}
	w := l.newWrite(ctx, s, place, e)
	t, err := w.append()
	return t, l.failure(place, err)
}

// Settle is the second half of Write: it ensures that the entry is before any seal, or appends it
// again.
func (l *Logs) Settle(ctx context.Context, s kv.Store, place string, e Entry, t *Ticket) error {
	if t.settled {
		return nil
	}
	w := l.newWrite(ctx, s, place, e)
	for range maxTries {
		ok, err := w.stands(t.name)
		if ok {
			t.settled = true
		} else if err == nil {
			*t, err = w.append()
		}
		if err != nil || t.settled {
			return l.failure(place, err)
		}
	}
	return l.failure(place, kv.ErrConflict)
}

type write struct {
	*Logs
	ctx   context.Context
	s     kv.Store
	place string
	e     Entry
	hash  uint64
	data  []byte

	head *head // nil: unknown
	read bool  // by this write
}

func (l *Logs) newWrite(ctx context.Context, s kv.Store, place string, e Entry) *write {
	return &write{Logs: l, ctx: ctx, s: s, place: place, e: e, hash: hashOf(e.ID), data: appendRecord(nil, &e)}
}

// opAppend is refused after a seal if the store can do that.
func (l *Logs) opAppend(s kv.Store, key string, data []byte) kv.Op {
	op := kv.OpAppend(key, data)
	if kv.PowersOf(s).Unless {
		op.Unless = seal
	}
	return op
}

func (w *write) target() *part { return &w.head.parts[w.head.find(w.hash)] }

// append is W0 and W1.
func (w *write) append() (Ticket, error) {
	if w.head == nil {
		w.head = w.heads.get(w.place)
	}
	for range maxTries {
		t, err := w.try()
		if !errors.Is(err, errAgain) {
			return t, err
		}
	}
	return Ticket{}, kv.ErrConflict
}

// try appends to the segment that seems right. Without a head it assumes that the list has none, as
// most have, and reads it in the same trip. It also reads an old head.
func (w *write) try() (Ticket, error) {
	n, asks := name{}, true
	if w.head != nil {
		n, asks = w.target().name, w.isOld(w.head)
	}
	ops := []kv.Op{w.opAppend(w.s, w.key(w.place, n), w.data)}
	if asks {
		ops = append(ops, kv.OpGet(w.Key(w.place)))
	}
	_ = w.s.Do(w.ctx, ops)
	if asks {
		if err := w.know(w.decodeHead(w.place, ops[1].Result)); err != nil {
			return Ticket{}, err
		}
		if w.target().name != n {
			return Ticket{}, errAgain
		}
	}
	return w.appended(n, ops[0].Err())
}

func (w *write) ask() error { return w.know(w.readHead(w.ctx, w.s, w.place)) }

// Writers cannot get past a damaged head, so know replaces it, if a rebuild can restore it, and
// returns errAgain.
func (w *write) know(h *head, err error) error {
	w.head, w.read = h, err == nil
	if !wire.IsCorrupt(err) || w.Rebuilds == nil {
		return err
	}
	return w.again(w.remake(w.ctx, w.s, w.place, false))
}

func (w *write) appended(n name, err error) (Ticket, error) {
	switch {
	case err == nil:
		w.lookSometimes(w.place, n, len(w.data))
		return Ticket{n, kv.PowersOf(w.s).Unless, false}, nil
	case errors.Is(err, kv.ErrUnclear), errors.Is(err, kv.ErrSkipped):
		// a duplicate entry is harmless
		return Ticket{}, errAgain
	case errors.Is(err, kv.ErrSealed):
		return Ticket{}, w.follow(n)
	case errors.Is(err, kv.ErrNotStored):
		return w.begin(n)
	}
	return Ticket{}, err
}

// patience is how many times a writer checks, with growing pauses, whether others have replaced a
// sealed segment, before it does so itself.
const patience = 6

// follow returns errAgain when the head no longer names n, which is sealed.
func (w *write) follow(n name) error {
	for try := range patience {
		if !kv.Pause(w.ctx, w.s, 250*time.Microsecond<<try) {
			return kv.TooLate(w.ctx)
		}
		if err := w.ask(); err != nil {
			return err
		}
		if w.target().name != n {
			return errAgain
		}
	}
	return w.replace(n)
}

func (w *write) replace(n name) error {
	key := w.key(w.place, n)
	if _, busy := w.replacing.LoadOrStore(key, true); busy {
		kv.Pause(w.ctx, w.s, time.Millisecond)
		return errAgain
	}
	defer w.replacing.Delete(key)
	return w.again(w.roll(w.ctx, w.s, w.place, n))
}

// begin handles a failed append: n is full, or absent: not begun, replaced, or lost.
func (w *write) begin(n name) (Ticket, error) {
	if n == (name{}) && w.read && !w.head.stored {
		return w.beginList()
	}
	ops := []kv.Op{kv.OpGet(w.Key(w.place)), kv.OpGet(w.key(w.place, n))}
	if err := w.s.Do(w.ctx, ops); err != nil {
		return Ticket{}, err
	}
	if err := w.know(w.decodeHead(w.place, ops[0].Result)); err != nil {
		return Ticket{}, err
	}
	switch {
	case w.target().name != n:
		return Ticket{}, errAgain
	case !absent(&ops[1]):
		return Ticket{}, w.replace(n)
	case n == (name{}) && !w.head.stored:
		return w.beginList()
	}
	return Ticket{}, w.again(w.heal(w.ctx, w.s, w.place, n))
}

func (w *write) again(err error) error {
	if err != nil {
		return err
	}
	w.head = nil
	w.heads.drop(w.place)
	return errAgain
}

func (w *write) beginList() (Ticket, error) {
	w.read = false
	e := w.e
	e.late = w.Confirm != nil
	first := encodeSegment([]row{{Entry: e, hash: w.hash}})
	_, err := kv.One(w.ctx, w.s, kv.OpAdd(w.key(w.place, name{}), first))
	switch {
	case err == nil:
		if w.Hot > 0 {
			w.tendSoon(w.place, name{})
		}
		// it was added, so there was no seal before it
		return Ticket{name{}, true, true}, nil
	case errors.Is(err, kv.ErrExists), errors.Is(err, kv.ErrUnclear):
		return Ticket{}, errAgain
	}
	return Ticket{}, err
}

// stands is W2: it reports whether the entry is before any seal. There is none while the head names
// n and no process is about to replace it.
func (w *write) stands(n name) (bool, error) {
	if err := w.ask(); err != nil {
		if errors.Is(err, errAgain) {
			err = nil
		}
		return false, err
	}
	p := w.target()
	if p.name != n || !p.rolling {
		return p.name == n, nil
	}
	ops := []kv.Op{kv.OpGet(w.key(w.place, n))}
	if err := w.s.Do(w.ctx, ops); err != nil {
		return false, err
	}
	if absent(&ops[0]) {
		w.again(nil)
		return false, nil
	}
	g, err := w.decodeSegment(&ops[0])
	if err != nil {
		return false, err
	}
	if !g.sealed {
		w.tendSoon(w.place, n)
		return true, nil
	}
	if err := w.follow(n); !errors.Is(err, errAgain) {
		return false, err
	}
	return false, nil
}

// WriteAll is Write for many entries, in as many trips.
func (l *Logs) WriteAll(ctx context.Context, s kv.Store, place string, entries []Entry) error {
	for i := range entries {
		if err := entries[i].check(); err != nil {
			return l.failure(place, err)
		}
	}
	rest, err := l.appendAll(ctx, s, place, entries)
	if err != nil {
		return l.failure(place, err)
	}
	return cmp.Or(kv.Each(ctx, s, rest, func(s kv.Store, _ int, e Entry) error { return l.Write(ctx, s, place, e) })...)
}

func (l *Logs) appendAll(ctx context.Context, s kv.Store, place string, entries []Entry) (rest []Entry, err error) {
	h := l.heads.get(place)
	if h == nil || l.isOld(h) {
		if h, err = l.readHead(ctx, s, place); err != nil {
			return nil, err
		}
	}
	groups := make(map[int][]Entry)
	for _, e := range entries {
		at := h.find(hashOf(e.ID))
		groups[at] = append(groups[at], e)
	}
	var ops []kv.Op
	var to []int
	for _, at := range slices.Sorted(maps.Keys(groups)) {
		group := groups[at]
		var data []byte
		for i := range group {
			data = appendRecord(data, &group[i])
		}
		ops, to = append(ops, l.opAppend(s, l.key(place, h.parts[at].name), data)), append(to, at)
	}
	_ = s.Do(ctx, ops)
	now := h
	if !kv.PowersOf(s).Unless {
		if now, err = l.readHead(ctx, s, place); err != nil {
			return nil, err
		}
	}
	for i, at := range to {
		n := h.parts[at].name
		if k := now.indexOf(n); ops[i].Err() != nil || k < 0 || now.parts[k].rolling {
			rest = append(rest, groups[at]...)
		} else {
			l.lookSometimes(place, n, len(ops[i].Value))
		}
	}
	return slices.Clip(rest), nil
}
