// Package enumeration lists the ids of a model's records, on a store that does not list its keys in
// order.
//
// The ids are a list of package memberlog, which splits as it grows. An id is added when its line
// leaves the journal, by every process that repairs the line, and is listed once. When a walk finds
// many ids of deleted records, they are removed. The head of the list exists from the model's
// beginning, so a missing key is noticed. See docs/internals/write-path.md.
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
	batchSize = 100 // ids per call of the func of Each
)

// Enumeration is the ids of a model. It may include deleted records: only the record itself tells
// whether it exists.
type Enumeration struct {
	model string
	logs  *memberlog.Logs
}

// New returns the enumeration of model. It runs its upkeep with soon.
func New(model string, s kv.Store, now func() time.Time, soon func(func(context.Context) error) bool) *Enumeration {
	key := headKey.Key(model)
	return &Enumeration{model, &memberlog.Logs{
		Key: func(string) string { return key }, Store: s, Now: now, Soon: soon, Limits: memberlog.DefaultLimits, Headed: true,
	}}
}

const place = "" // the only list

// Begin creates the list of a new model.
func (e *Enumeration) Begin(ctx context.Context) error {
	return e.logs.Begin(ctx, e.logs.Store, place)
}

// HeadKey returns the key of the head, and FirstKey another key that exists once the model has
// begun.
func (e *Enumeration) HeadKey() string  { return headKey.Key(e.model) }
func (e *Enumeration) FirstKey() string { return e.logs.First(place) }

// IsThere reports whether there is a head, given the answer to its get, and whether it is damaged.
func (e *Enumeration) IsThere(got kv.Result) (there, damaged bool) {
	return got.Err == nil, got.Err == nil && !memberlog.IsHead(got.Value)
}

// Remake recreates a damaged head.
func (e *Enumeration) Remake(ctx context.Context) error {
	return e.logs.Remake(ctx, e.logs.Store, place)
}

// Put adds ids. It first recreates a damaged head.
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

// Remove removes id. It calls fence after each read of the id; fence fails if the record exists.
func (e *Enumeration) Remove(ctx context.Context, id string, fence func() error) error {
	err := e.logs.EraseOne(ctx, e.logs.Store, place, id, fence)
	if errors.Is(err, memberlog.ErrNoHead) {
		return nil // nothing was written, or a walk reports the loss
	}
	return err
}

// Prune removes the ids of records that alive reports as gone.
func (e *Enumeration) Prune(ctx context.Context, alive func(ctx context.Context, ids []string) ([]bool, error)) error {
	return e.logs.Keep(ctx, e.logs.Store, place, func(ids []string) ([]bool, error) { return alive(ctx, ids) })
}

// Accept acknowledges the loss of missing parts, which are no longer an error.
func (e *Enumeration) Accept(ctx context.Context) error {
	return e.logs.Accept(ctx, e.logs.Store, place)
}

// Reached is the position of a walk. In the list, Key is the hash of an id and the id. In a walk
// along the keys of records, Key is a key. For numbered ids it is Number.
type Reached struct {
	Number int64
	Key    string
}

// IsBehind reports whether r is farther than to.
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

// Each calls f with the ids after from, each once, in batches, with the position reached and the
// approximate number left. head is the answer to a get of the head, made after lines were read;
// these are ids that may not be in the list yet. A walk that continues from a position passed to f
// misses no id that existed when the first walk began.
//
// After the remaining ids, Each returns an ErrLost that names the lost parts, or an ErrCorrupt that
// names the damaged ones. A walk that continues from there reports them again. isAccepted means
// that the loss of the head is known.
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
	missed  bool // an earlier part was missing or damaged
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
