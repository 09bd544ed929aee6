package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/index/internal/memberlog"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Sets is a [Set] of ids of type K for each value of type V, such as the users
// who follow a topic. Nothing else is stored of the ids: where the fact that one
// is in a set carries more, or has to be made at most once, an edge record says
// it better.
type Sets[V any, K comparable] struct {
	name   string
	values kvmodel.KeyOf[V]
	ids    kvmodel.KeyOf[K]
	db     *kvmodel.DB
	logs   *memberlog.Logs
	revs   revs
}

var setKey = kv.NewClass("s", 2) // name, value text

// NewSets returns the sets of that name in db.
func NewSets[V any, K comparable](db *kvmodel.DB, name string, values kvmodel.KeyOf[V], ids kvmodel.KeyOf[K], opts ...ListOption) *Sets[V, K] {
	s := &Sets[V, K]{name: name, values: values, ids: ids, db: db}
	s.logs, _ = newLogs(db, opts)
	s.logs.Key = func(place string) string { return setKey.KeyOfText([]string{name}, place) }
	return s
}

// Of returns the set of v.
func (s *Sets[V, K]) Of(v V) *Set[K] {
	place := s.values.Text(v)
	return &Set[K]{ids: s.ids, db: s.db, logs: s.logs, revs: &s.revs, place: place, name: fmt.Sprintf("%s %q", s.name, place)}
}

// Set is a set of ids, in an order that stays as it is but means nothing.
//
// Of what is done to one id the latest counts, by the clocks of the machines
// that do it; what one process does to it counts in its order. Adding what is
// there and removing what is not changes nothing.
type Set[K comparable] struct {
	ids   kvmodel.KeyOf[K]
	db    *kvmodel.DB
	logs  *memberlog.Logs
	revs  *revs
	place string
	name  string
}

// Add puts ids into the set. One trip, and one more where the store cannot refuse
// an append after a seal; it reads nothing. Before an error some may have been
// added.
func (s *Set[K]) Add(ctx context.Context, ids ...K) error { return s.say(ctx, ids, true) }

// Remove takes ids out of the set. It costs as Add.
func (s *Set[K]) Remove(ctx context.Context, ids ...K) error { return s.say(ctx, ids, false) }

func (s *Set[K]) say(ctx context.Context, ids []K, in bool) error {
	now := s.db.Now()
	return atEach(ctx, s.db.Store(), len(ids), func(store kv.Store, i int) error {
		e := memberlog.Entry{ID: s.ids.Text(ids[i]), Rev: s.revs.next(now), In: in}
		if !in {
			e.At = max(now.Unix(), 1)
		}
		return s.logs.Write(ctx, store, s.place, e)
	}, func(_ int, err error) error { return s.failure(err) })
}

func (s *Set[K]) failure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.name, err)
}

// Contains tells whether id is in the set. One trip, two the first time.
func (s *Set[K]) Contains(ctx context.Context, id K) (bool, error) {
	in, err := s.logs.Contains(ctx, s.db.Store(), s.place, s.ids.Text(id))
	return in, s.failure(err)
}

// Count returns how many ids are in the set. It reads all of it, some segments a
// trip.
func (s *Set[K]) Count(ctx context.Context) (int, error) {
	n, err := s.logs.Count(ctx, s.db.Store(), s.place)
	return n, s.failure(err)
}

// Size returns about how many ids are in the set, by counting a part of it:
// exactly up to some thousand, within a few percent above. One trip, two the
// first time.
func (s *Set[K]) Size(ctx context.Context) (int, error) {
	n, err := s.logs.Size(ctx, s.db.Store(), s.place)
	return n, s.failure(err)
}

// Members is one page of ids with the cursors to go on from. An empty cursor
// means that there is nothing in that direction.
type Members[K any] struct {
	IDs        []K
	Next, Prev string
}

// Page returns up to n ids, from the place that cursor stands for, "" for the
// beginning, with the cursors of the pages around it. n is from 1 to 1000. One
// trip, two the first time. ErrBadCursor.
func (s *Set[K]) Page(ctx context.Context, cursor string, n int) (Members[K], error) {
	from, err := startOf(s.name, cursor, n)
	if err != nil {
		return Members[K]{}, err
	}
	w, err := from.window(ctx, s.logs, s.db.Store(), s.place, from.at, n)
	if err != nil {
		return Members[K]{}, s.failure(err)
	}
	some := w.Members[:min(n, len(w.Members))]
	more := len(w.Members) > n || !w.Ends
	var page Members[K]
	var first, last *memberlog.Position
	for i := range some {
		if first == nil {
			first = &some[i].Position
		}
		last = &some[i].Position
		id, err := s.ids.Parse(some[i].ID)
		if err != nil {
			return Members[K]{}, s.failure(err)
		}
		page.IDs = append(page.IDs, id)
	}
	page.Next, page.Prev = from.cursors(s.name, first, last, more && last != nil)
	if from.back {
		slices.Reverse(page.IDs)
	}
	return page, nil
}

// All returns the ids in the set, each once. Ids that come or go meanwhile may be
// among them or not. After an error it ends.
func (s *Set[K]) All(ctx context.Context) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		var wrong error
		err := s.logs.Each(ctx, s.db.Store(), s.place, func(texts []string) bool {
			for _, text := range texts {
				id, err := s.ids.Parse(text)
				if err != nil {
					wrong = err
					return false
				}
				if !yield(id, nil) {
					wrong = errStop
					return false
				}
			}
			return true
		})
		if err == nil {
			err = wrong
		}
		if err != nil && !errors.Is(err, errStop) {
			var none K
			yield(none, s.failure(err))
		}
	}
}

// Accept takes what is left of a set for the whole of it, after its store has
// lost a part: until then reading it is an ErrNeedsRebuild.
func (s *Set[K]) Accept(ctx context.Context) error {
	return s.failure(s.logs.Accept(ctx, s.db.Store(), s.place))
}

// revs gives each thing that a process says a higher rev than the one before.
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
