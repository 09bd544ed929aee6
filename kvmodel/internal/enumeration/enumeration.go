// Package enumeration lists the ids of a model's records on a store that does not list its keys in
// order. An id is added when its line leaves the journal; ids of deleted records are pruned.
package enumeration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var headKey = kv.NewClass("ids", 1) // model

const (
	idsAtOnce = 256 // added in one trip
	batchSize = 100 // per call of the func of Each
)

// Enumeration may include deleted records.
type Enumeration struct {
	model string
	logs  *memberlog.Logs
}

func New(model string, s kv.Store, now func() time.Time, soon func(func(context.Context) error) bool) *Enumeration {
	key := headKey.Key(model)
	return &Enumeration{model, &memberlog.Logs{
		Key: func(string) string { return key }, Store: s, Now: now, Soon: soon, Limits: memberlog.DefaultLimits, Headed: true,
	}}
}

const place = "" // the only list

func (e *Enumeration) Begin(ctx context.Context) error {
	return e.logs.Begin(ctx, e.logs.Store, place)
}

func (e *Enumeration) HeadKey() string  { return headKey.Key(e.model) }
func (e *Enumeration) FirstKey() string { return e.logs.First(place) }

func (e *Enumeration) IsThere(got kv.Result) (there, damaged bool) {
	return got.Err == nil, got.Err == nil && !memberlog.IsHead(got.Value)
}

func (e *Enumeration) Remake(ctx context.Context) error {
	return e.logs.Remake(ctx, e.logs.Store, place)
}

func (e *Enumeration) Put(ctx context.Context, ids []string) error {
	for some := range slices.Chunk(ids, idsAtOnce) {
		entries := make([]memberlog.Entry, len(some))
		for i, id := range some {
			entries[i] = memberlog.Entry{ID: id, Rev: 1, In: true} // the rev does not matter
		}
		err := e.logs.WriteAll(ctx, e.logs.Store, place, entries)
		if wire.IsCorrupt(err) {
			if err = e.Remake(ctx); err == nil {
				err = e.logs.WriteAll(ctx, e.logs.Store, place, entries)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Remove calls fence after each read of the id; fence fails if the record exists.
func (e *Enumeration) Remove(ctx context.Context, id string, fence func() error) error {
	err := e.logs.EraseOne(ctx, e.logs.Store, place, id, fence)
	if errors.Is(err, memberlog.ErrNoHead) {
		return nil // nothing was written, or a walk reports the loss
	}
	return err
}

func (e *Enumeration) Prune(ctx context.Context, alive func(ctx context.Context, ids []string) ([]bool, error)) error {
	return e.logs.Keep(ctx, e.logs.Store, place, func(ids []string) ([]bool, error) { return alive(ctx, ids) })
}

func (e *Enumeration) Accept(ctx context.Context) error {
	return e.logs.Accept(ctx, e.logs.Store, place)
}

// Reached is the position of a walk: a Number, or the Key of a record, or in the list the hash of
// an id and the id.
type Reached struct {
	Number int64
	Key    string
}

func (r Reached) IsBehind(to Reached) bool { return r.Number > to.Number || r.Key > to.Key }

const hashDigits = 16

func reached(p memberlog.Position) Reached { return Reached{Key: fmt.Sprintf("%016x", p.Hash) + p.ID} }

func (r Reached) position() (p memberlog.Position, err error) {
	if len(r.Key) < hashDigits {
		return p, nil
	}
	p.ID = r.Key[hashDigits:]
	p.Hash, err = strconv.ParseUint(r.Key[:hashDigits], 16, 64)
	return p, err
}

// Each calls f with the ids after from, each once, in batches, with the position and about how many
// are left. head was read after lines, ids that may not be listed yet. No id that existed when the
// first of several continued walks began is missed. An ErrLost or ErrCorrupt that names the missing
// parts comes last. isAccepted: the loss of the head is known.
func (e *Enumeration) Each(ctx context.Context, head kv.Result, isAccepted bool, from Reached, lines []string, f func(ids []string, to Reached, left int64) error) error {
	at, err := from.position()
	if err != nil {
		return fmt.Errorf("%s: %w", e.model, err)
	}
	w := &walk{f: f, open: after(at, lines), to: from}
	err = e.logs.Walk(ctx, e.logs.Store, place, head, at, w.take)
	if isAccepted && errors.Is(err, memberlog.ErrNoHead) {
		return nil
	}
	if err != nil && w.refused == nil {
		err = fmt.Errorf("%s: enumeration: %w", e.model, err)
	}
	return err
}

type walk struct {
	f       func(ids []string, to Reached, left int64) error
	open    []memberlog.Position // ids in lines not passed to f yet, in order
	to      Reached
	missed  bool
	refused error
}

func after(at memberlog.Position, ids []string) (all []memberlog.Position) {
	for _, id := range ids {
		if p := memberlog.PositionOf(id); at.Compare(p) < 0 {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, memberlog.Position.Compare)
	return slices.Compact(all)
}

func (w *walk) take(st memberlog.Stretch) error {
	w.missed = w.missed || st.Missed != nil
	var all []memberlog.Position
	for i := range st.Members {
		p := st.Members[i].Position()
		all = append(w.before(all, func(q memberlog.Position) bool { return q.Compare(p) < 0 }), p)
		if len(w.open) > 0 && w.open[0] == p {
			w.open = w.open[1:]
		}
	}
	all = w.before(all, func(q memberlog.Position) bool { return q.Hash <= st.Last })
	for len(all) > 0 {
		some := all[:min(batchSize, len(all))]
		all = all[len(some):]
		if !w.missed {
			w.to = reached(some[len(some)-1])
		}
		ids := kv.Texts(some, func(p memberlog.Position) string { return p.ID })
		if w.refused = w.f(ids, w.to, int64(len(all)+st.Left+len(w.open))); w.refused != nil {
			return w.refused
		}
	}
	return nil
}

func (w *walk) before(all []memberlog.Position, is func(memberlog.Position) bool) []memberlog.Position {
	for len(w.open) > 0 && is(w.open[0]) {
		all, w.open = append(all, w.open[0]), w.open[1:]
	}
	return all
}
