package memberlog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"
	"strings"
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
	t, err := l.newWrite(ctx, s, place, e).append()
	return t, l.failure(place, err)
}

// Settle is the second half of Write: it ensures that the entry is before any seal, or appends it
// again.
func (l *Logs) Settle(ctx context.Context, s kv.Store, place string, e Entry, t *Ticket) error {
	if t.settled {
		return nil
	}
	return l.failure(place, l.newWrite(ctx, s, place, e).settle(t))
}

func (w *write) settle(t *Ticket) error {
	for range maxTries {
		ok, err := w.stands(t.name)
		if ok {
			t.settled = true
		} else if err == nil {
			*t, err = w.append()
		}
		if err != nil || t.settled {
			return err
		}
	}
	return kv.ErrConflict
}

// write adds entries to one segment of a list.
type write struct {
	*Logs
	ctx   context.Context
	s     kv.Store
	place string
	rows  []row // in order
	data  []byte
	one   [1]row // room for rows

	head *head // nil: unknown
	read bool  // by this write
	at   name  // the segment of the last try
}

func (l *Logs) newWrite(ctx context.Context, s kv.Store, place string, e Entry) *write {
	w := &write{Logs: l, ctx: ctx, s: s, place: place, data: appendRecord(nil, &e)}
	w.one[0] = row{e, hashOf(e.ID)}
	w.rows = w.one[:]
	return w
}

// opAppend is refused after a seal if the store can do that.
func (l *Logs) opAppend(s kv.Store, key string, data []byte) kv.Op {
	op := kv.OpAppend(key, data)
	if kv.PowersOf(s).Unless {
		op.Unless = seal
	}
	return op
}

// target returns the segment of the first entry.
func (w *write) target() *part { return &w.head.parts[w.head.find(w.rows[0].hash)] }

// isApart reports whether the entries belong in several segments.
func (w *write) isApart() bool {
	return len(w.rows) > 1 && w.target() != &w.head.parts[w.head.find(w.rows[len(w.rows)-1].hash)]
}

// append is W0 and W1.
func (w *write) append() (Ticket, error) {
	if w.head == nil {
		w.head = w.heads.get(w.place)
	}
	for range maxTries {
		if w.head != nil && w.isApart() {
			return Ticket{}, errApart
		}
		t, err := w.try()
		if !errors.Is(err, errAgain) {
			return t, err
		}
	}
	return Ticket{}, kv.ErrConflict
}

// errApart: the entries belong in several segments.
var errApart = errors.New("apart")

// try appends the entry to the segment that seems right. Without a head it assumes that there is
// none, as in most lists, and reads it in the same trip. It also reads a head that is old.
func (w *write) try() (Ticket, error) {
	ops := w.trying(nil)
	_ = w.s.Do(w.ctx, ops)
	return w.tried(ops)
}

// trying returns the ops of a try.
func (w *write) trying(ops []kv.Op) []kv.Op {
	asks := true
	if w.at = (name{}); w.head != nil {
		w.at, asks = w.target().name, w.isOld(w.head)
	}
	head := w.Key(w.place)
	ops = append(ops, w.opAppend(w.s, keyIn(head, w.at), w.data))
	if asks {
		ops = append(ops, kv.OpGet(head))
	}
	return ops
}

// tried takes the answers.
func (w *write) tried(ops []kv.Op) (Ticket, error) {
	if len(ops) > 1 {
		if err := w.know(w.decodeHead(w.place, ops[1].Result)); err != nil {
			return Ticket{}, err
		}
		if w.target().name != w.at || w.isApart() {
			return Ticket{}, errAgain
		}
	}
	return w.appended(w.at, ops[0].Err())
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
	busy, err := w.rollAlone(w.ctx, w.s, w.place, nil, n)
	if busy {
		return errAgain
	}
	return w.again(err)
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
	for i := range w.rows {
		w.rows[i].late = w.Confirm != nil || len(w.rows) > 1 // there may be repetitions
	}
	first := encodeSegment(w.rows)
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

// WriteAll is Write for many entries, in as many trips as one Write if the list's head is
// remembered.
func (l *Logs) WriteAll(ctx context.Context, s kv.Store, place string, entries []Entry) error {
	rows := make([]row, len(entries))
	for i, e := range entries {
		if err := e.check(); err != nil {
			return l.failure(place, err)
		}
		rows[i] = row{e, hashOf(e.ID)}
	}
	slices.SortFunc(rows, func(a, b row) int { return a.compare(&b) })
	return l.failure(place, l.writeRows(ctx, s, place, l.heads.get(place), rows))
}

// writeRows writes rows, which are in order, to their segments according to h, which may be nil.
func (l *Logs) writeRows(ctx context.Context, s kv.Store, place string, h *head, rows []row) error {
	return cmp.Or(kv.Each(ctx, s, l.writesTo(nil, ctx, place, h, rows), func(s kv.Store, _ int, w write) error {
		w.s = s
		_, err := w.finish(w.append())
		return err
	})...)
}

// writesTo appends the writes of rows to all, one for each segment of h.
func (l *Logs) writesTo(all []write, ctx context.Context, place string, h *head, rows []row) []write {
	for len(rows) > 0 {
		n := len(rows)
		if h != nil {
			last := h.parts[h.find(rows[0].hash)].last()
			n = sort.Search(n, func(i int) bool { return rows[i].hash > last })
		}
		w := write{Logs: l, ctx: ctx, place: place, rows: rows[:n:n], head: h}
		for i := range w.rows {
			w.data = appendRecord(w.data, &w.rows[i].Entry)
		}
		all, rows = append(all, w), rows[n:]
	}
	return all
}

// finish completes a write whose append gave t and err.
func (w *write) finish(t Ticket, err error) (Ticket, error) {
	if err == nil && !t.settled {
		err = w.settle(&t)
	}
	if errors.Is(err, errApart) {
		err = w.writeRows(w.ctx, w.s, w.place, w.head, w.rows)
	}
	return t, err
}

// Placed is an entry of the list of Place.
type Placed struct {
	Place string
	Entry
}

// Enter writes entries to many lists in a transaction, and returns the places of those it started.
func (l *Logs) Enter(ctx context.Context, s kv.Store, all []Placed) (began []string, err error) {
	slices.SortFunc(all, func(a, b Placed) int {
		return cmp.Or(strings.Compare(a.Place, b.Place), PositionOf(a.ID).Compare(PositionOf(b.ID)))
	})
	rows, writes := make([]row, len(all)), make([]write, 0, len(all))
	for begin, end := 0, 0; begin < len(all); begin = end {
		place := all[begin].Place
		for ; end < len(all) && all[end].Place == place; end++ {
			if err := all[end].check(); err != nil {
				return nil, l.failure(place, err)
			}
			rows[end] = row{all[end].Entry, hashOf(all[end].ID)}
		}
		writes = l.writesTo(writes, ctx, place, l.heads.get(place), rows[begin:end:end])
	}
	ops, ends := make([]kv.Op, 0, 2*len(writes)), make([]int, len(writes))
	for i := range writes {
		writes[i].s = s
		ops = writes[i].trying(ops)
		ends[i] = len(ops)
	}
	_ = s.Do(ctx, ops) // each op has its own result
	for i, begin := 0, 0; i < len(writes); begin, i = ends[i], i+1 {
		w := &writes[i]
		t, err := w.tried(ops[begin:ends[i]])
		if errors.Is(err, errAgain) {
			t, err = w.append()
		}
		if t, err = w.finish(t, err); err != nil {
			return nil, l.failure(w.place, err)
		}
		if t.began {
			began = append(began, w.place)
		}
	}
	return began, nil
}
