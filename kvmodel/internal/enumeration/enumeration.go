// Package enumeration lists the ids of a model's records, on a store that does not list its keys in
// order.
//
// They are a list of package memberlog, which splits as it grows. An id is added when its line leaves
// the journal, by as many processes as repair that: it stands in the list once all the same. The ids
// of records that are gone leave when a walk finds many of them. The head of the list is there from
// the model's beginning on, so a key of it that is gone is noticed. See docs/internals/write-path.md.
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
	batchSize = 100 // ids given to the func of Each
)

// Enumeration is the ids of a model. Those of deleted records may be among them: only the record says
// whether it exists.
type Enumeration struct {
	model string
	logs  *memberlog.Logs
}

// New returns the enumeration of model, which soon keeps in shape.
func New(model string, s kv.Store, now func() time.Time, soon func(func(context.Context) error) bool) *Enumeration {
	key := headKey.Key(model)
	return &Enumeration{model, &memberlog.Logs{
		Key: func(string) string { return key }, Store: s, Now: now, Soon: soon, Limits: memberlog.DefaultLimits, Headed: true,
	}}
}

const place = "" // There is one list.

// Begin makes the list of a model that begins.
func (e *Enumeration) Begin(ctx context.Context, s kv.Store) error {
	return e.logs.Begin(ctx, s, place)
}

// HeadKey returns the key of the head, and FirstKey another one that is there once the model has
// begun.
func (e *Enumeration) HeadKey() string  { return headKey.Key(e.model) }
func (e *Enumeration) FirstKey() string { return e.logs.First(place) }

// IsThere reports whether there is a head, as a get of it has answered, and whether it is damaged.
func (e *Enumeration) IsThere(got kv.Result) (there, damaged bool) {
	return got.Err == nil, got.Err == nil && !memberlog.IsHead(got.Value)
}

// Remake makes a damaged head again.
func (e *Enumeration) Remake(ctx context.Context, s kv.Store) error {
	return e.logs.Remake(ctx, s, place)
}

// Put adds ids. A damaged head is made again first.
func (e *Enumeration) Put(ctx context.Context, s kv.Store, ids []string) error {
	for some := range slices.Chunk(ids, idsAtOnce) {
		entries := make([]memberlog.Entry, len(some))
		for i, id := range some {
			entries[i] = memberlog.Entry{ID: id, Rev: 1, In: true} // Which rev it has makes no difference.
		}
		err := e.logs.WriteAll(ctx, s, place, entries)
		if wire.IsCorrupt(err) {
			if err = e.Remake(ctx, s); err == nil {
				err = e.logs.WriteAll(ctx, s, place, entries)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Remove takes id out. fence is called after each read of it: it fails if there is such a record.
func (e *Enumeration) Remove(ctx context.Context, s kv.Store, id string, fence func() error) error {
	err := e.logs.EraseOne(ctx, s, place, id, fence)
	if errors.Is(err, memberlog.ErrNoHead) {
		return nil // Nothing was written, or a walk says that it is lost.
	}
	return err
}

// Prune takes out the ids of records that do not exist, as alive says.
func (e *Enumeration) Prune(ctx context.Context, s kv.Store, alive func(ctx context.Context, ids []string) ([]bool, error)) error {
	return e.logs.Keep(ctx, s, place, func(ids []string) ([]bool, error) { return alive(ctx, ids) })
}

// Accept takes what is gone for lost, so that it is no error any more.
func (e *Enumeration) Accept(ctx context.Context, s kv.Store) error {
	return e.logs.Accept(ctx, s, place)
}

// Reached is how far a walk has come: in the list to Key, the hash of an id and the id; in a walk along
// the keys of the records to the one of that Key; where ids are numbers, to Number.
type Reached struct {
	Number int64
	Key    string
}

// IsBehind reports whether r is farther than to.
func (r Reached) IsBehind(to Reached) bool { return r.Number > to.Number || r.Key > to.Key }

const hashDigits = 16

// reached returns how far a walk has come that has given all up to p.
func reached(p memberlog.Position) Reached { return Reached{Key: fmt.Sprintf("%016x", p.Hash) + p.ID} }

// position returns where a walk goes on from r.
func (r Reached) position() (p memberlog.Position, err error) {
	if len(r.Key) < hashDigits {
		return p, nil
	}
	p.ID = r.Key[hashDigits:]
	p.Hash, err = strconv.ParseUint(r.Key[:hashDigits], 16, 64)
	return p, err
}

// Each calls f with the ids behind from, each once, in batches, with how far that goes, and with about
// how many are left. head is what a get of the head has answered after lines were read, ids that may not
// be in the list yet. A walk that goes on from what f was called with misses no id that was there when
// the first began.
//
// After the remaining ids, an ErrLost names the lost parts, or an ErrCorrupt the damaged ones. No later walk
// that goes on from there passes it by. isAccepted says that the loss of the head is known.
func (e *Enumeration) Each(ctx context.Context, s kv.Store, head kv.Result, isAccepted bool, from Reached, lines []string, f func(ids []string, to Reached, left int64) error) error {
	at, err := from.position()
	if err != nil {
		return fmt.Errorf("%s: %w", e.model, err)
	}
	w := &walk{f: f, open: after(at, lines), to: from}
	err = e.logs.Walk(ctx, s, place, head, at, w.take)
	if isAccepted && errors.Is(err, memberlog.ErrNoHead) {
		return nil
	}
	if err != nil && w.refused == nil {
		err = fmt.Errorf("%s: enumeration: %w", e.model, err)
	}
	return err
}

// walk is a call of Each.
type walk struct {
	f       func(ids []string, to Reached, left int64) error
	open    []memberlog.Position // ids in lines, in order, that were not given yet
	to      Reached
	missed  bool // something before was gone or damaged
	refused error
}

// after returns the positions of ids that stand after at, in order and each once.
func after(at memberlog.Position, ids []string) (all []memberlog.Position) {
	for _, id := range ids {
		if p := memberlog.PositionOf(id); at.Compare(p) < 0 {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, memberlog.Position.Compare)
	return slices.Compact(all)
}

// take gives what is in st and, between that, in lines.
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

// before appends to all the positions in lines, up to the first that is not before.
func (w *walk) before(all []memberlog.Position, is func(memberlog.Position) bool) []memberlog.Position {
	for len(w.open) > 0 && is(w.open[0]) {
		all, w.open = append(all, w.open[0]), w.open[1:]
	}
	return all
}
