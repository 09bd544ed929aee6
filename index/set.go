package index

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/index/internal/memberlog"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Sets is a [Set] of ids of type K for each value of type V, such as the users
// who follow a topic. Only the ids are stored. Where membership has more to say, or
// must be created at most once, an edge record does it better.
type Sets[V any, K comparable] struct {
	name   string
	values kvmodel.KeyOf[V]
	ids    kvmodel.KeyOf[K]
	db     plug.DB
	logs   *memberlog.Logs
	revs   revs
}

var setKey = kv.NewClass("s", 2) // name, value text

// NewSets returns the sets with this name in db.
func NewSets[V any, K comparable](db *kvmodel.DB, name string, values kvmodel.KeyOf[V], ids kvmodel.KeyOf[K], opts ...ListOption) *Sets[V, K] {
	s := &Sets[V, K]{name: name, values: values, ids: ids, db: db.Named("", name)}
	s.logs = newLogs(s.db, optionsOf(opts))
	s.logs.Key = func(place string) string { return setKey.KeyOfText([]string{name}, place) }
	db.Plug(setWindow[V, K]{s})
	return s
}

// Of returns the set of v.
func (s *Sets[V, K]) Of(v V) *Set[K] {
	place := s.values.Text(v)
	return &Set[K]{s.db, &s.revs, &s.ids, members{s.logs, s.db.Store(), place, fmt.Sprintf("%s %q", s.name, place)}}
}

// Set is a set of ids, in an order that never changes but means nothing.
//
// The latest change of an id wins, by the clocks of the machines that make the
// changes; the changes of one process count in their order. Adding an id that is
// in the set changes nothing, nor does removing one that is not.
type Set[K comparable] struct {
	db   plug.DB
	revs *revs
	ids  *kvmodel.KeyOf[K]
	members
}

// Add puts ids into the set. One trip, and one more where the store cannot refuse
// an append after a seal; it reads nothing. If it fails, some ids may have been
// added.
func (s *Set[K]) Add(ctx context.Context, ids ...K) error {
	ctx, end := s.db.Begin(ctx, "Add")
	defer end()
	return s.say(ctx, ids, true)
}

// Remove takes ids out of the set. It costs what Add does.
func (s *Set[K]) Remove(ctx context.Context, ids ...K) error {
	ctx, end := s.db.Begin(ctx, "Remove")
	defer end()
	return s.say(ctx, ids, false)
}

func (s *Set[K]) say(ctx context.Context, ids []K, in bool) error {
	if err := s.db.Writable(); err != nil {
		return s.failure(err)
	}
	ctx, cancel := s.db.Patient(ctx)
	defer cancel()
	now := s.db.Now()
	return atEach(ctx, s.store, len(ids), func(store kv.Store, i int) error {
		e := memberlog.Entry{ID: s.ids.Text(ids[i]), Rev: s.revs.next(now), In: in}
		if !in {
			e.At = max(now.Unix(), 1)
		}
		return s.logs.Write(ctx, store, s.place, e)
	}, func(_ int, err error) error { return s.failure(err) })
}

// Contains reports whether id is in the set. One trip, two the first time.
func (s *Set[K]) Contains(ctx context.Context, id K) (bool, error) {
	ctx, end := s.db.Begin(ctx, "Contains")
	defer end()
	in, err := s.logs.Contains(ctx, kv.Near(s.store), s.place, s.ids.Text(id))
	return in, s.failure(err)
}

// Count returns how many ids are in the set. It reads the whole set, some segments
// a trip.
func (s *Set[K]) Count(ctx context.Context) (int, error) {
	ctx, end := s.db.Begin(ctx, "Count")
	defer end()
	return s.count(ctx)
}

// Size returns about how many ids are in the set, by counting a part of it:
// exactly up to a few thousand, and within a few percent above. One trip, two the
// first time.
func (s *Set[K]) Size(ctx context.Context) (int, error) {
	ctx, end := s.db.Begin(ctx, "Size")
	defer end()
	return s.size(ctx)
}

// Members is one page of ids, with the cursors of the pages around it. An empty
// cursor means that there is nothing in that direction.
type Members[K any] struct {
	IDs        []K
	Next, Prev string
}

// Page returns up to n ids, from the position that cursor stands for, "" for the
// beginning, with the cursors of the pages around it. n is from 1 to 1000. One
// trip, two the first time. The error may be an ErrBadCursor.
func (s *Set[K]) Page(ctx context.Context, cursor string, n int) (Members[K], error) {
	ctx, end := s.db.Begin(ctx, "Page")
	defer end()
	from, err := startOf(s.name, cursor, n)
	if err != nil {
		return Members[K]{}, err
	}
	ctx, cancel := s.db.Patient(ctx)
	defer cancel()
	w, err := from.window(ctx, s.logs, kv.Near(s.store), s.place, from.at, n)
	if err != nil {
		return Members[K]{}, s.failure(err)
	}
	some := w.Members[:min(n, len(w.Members))]
	more := len(w.Members) > n || !w.Ends
	page := Members[K]{IDs: make([]K, len(some))}
	for i := range some {
		id, err := s.ids.Parse(some[i].ID)
		if err != nil {
			return Members[K]{}, s.failure(err)
		}
		page.IDs[i] = id
	}
	var first, last *memberlog.Position
	if len(some) > 0 {
		first, last = position(&some[0]), position(&some[len(some)-1])
	}
	page.Next, page.Prev = from.cursors(s.name, first, last, more && last != nil)
	if from.direction == back {
		slices.Reverse(page.IDs)
	}
	return page, nil
}

// All returns the ids in the set, each once. Ids that are added or removed while it
// runs may or may not be among them. It ends after an error.
func (s *Set[K]) All(ctx context.Context) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		ctx, end := s.db.Begin(ctx, "All")
		defer end()
		eachID(ctx, &s.members, s.ids, yield)
	}
}

// Accept declares what is left of the set to be the whole set, after its store has
// lost a part. Until then reading the set returns ErrNeedsRebuild.
func (s *Set[K]) Accept(ctx context.Context) error {
	ctx, end := s.db.Begin(ctx, "Accept")
	defer end()
	if err := s.db.Writable(); err != nil {
		return s.failure(err)
	}
	return s.failure(s.logs.Accept(ctx, s.store, s.place))
}

// revs gives each change that a process makes a higher rev than the one before.
type revs struct{ last atomic.Uint64 }

// next returns the microseconds of now, or more.
func (r *revs) next(now time.Time) uint64 {
	for {
		last := r.last.Load()
		next := max(last+1, uint64(max(now.UnixMicro(), 0)))
		if r.last.CompareAndSwap(last, next) {
			return next
		}
	}
}
