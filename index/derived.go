package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A derived count is a counter that follows the number of records in the lists
// of an index: after a change has committed, it adds its share, once. On a store
// with Atomic this is part of the commit. Elsewhere the addition may be unclear,
// or the process may die before it, and then the list is counted again. That is
// only right at a moment when every change that has committed has sent its share
// too, so the counter must first stay unchanged for as long as that can take.

// Counted makes a counter of another model follow the lists: the counter of the
// record whose id is the value of the list. Nothing else may change that counter.
func Counted(model, counter string) ListOption {
	return func(o *listOptions) {
		o.derived = func(db *kvmodel.DB) *derivedCount {
			return &derivedCount{
				tally: db.Tally(model, counter),
				begun: map[string]recount{}, ended: map[string]time.Time{}, asked: map[string]bool{},
			}
		}
	}
}

// derivedCount is the counters that follow the lists of an index.
type derivedCount struct {
	tally *kvmodel.Tally

	mu    sync.Mutex // never held during a trip
	begun map[string]recount
	ended map[string]time.Time // when places were last counted again
	asked map[string]bool      // places that a rebuild has come across
}

// recount is a count of a list that waits until the counter has not changed for
// long enough.
type recount struct {
	version kv.Version // of the counter before the list was counted; 0: absent
	members int
	at      time.Time
}

const (
	// sendWithin is how long after its beginning a change may still send its
	// share to a counter.
	sendWithin = 10 * time.Second

	// recentlyCounted is how old a recount may be that makes up for a dead
	// process, which has sent nothing for longer than a recount takes.
	recentlyCounted = 5 * time.Second

	// quietFor is how long a counter must stay unchanged before its list is
	// counted again: as long as it takes a change to send its share, and the
	// share to arrive.
	quietFor = 15 * time.Second
)

// errNotQuiet: a list will be counted again, but not yet.
var errNotQuiet = fmt.Errorf("%w: a list is counted again once its counter has not changed for %v", kvmodel.ErrNotYet, quietFor)

// counting is how far a change has come with its share of the counters.
type counting uint8

const (
	notCounted counting = iota
	countedOnce
	countUnclear
)

// follow adds the share of m to the counters. done is how far an earlier call for
// the same change has come.
func (l *Lists[T, K, V]) follow(ctx context.Context, s kv.Store, m *plug.Move, done *counting) error {
	if l.derived == nil || *done == countedOnce {
		return nil
	}
	gained, lost := without(m.Is, m.Was), without(m.Was, m.Is)
	inTime := kv.PowersOf(l.host.Store()).Atomic != nil || l.host.DB().Now().Sub(m.Began) <= sendWithin
	first := *done == notCounted
	*done = countUnclear
	var err error
	if first && inTime {
		err = l.add(ctx, s, gained, lost)
	} else {
		err = l.recount(ctx, s, slices.Concat(gained, lost), m.Began.Add(sendWithin))
	}
	if err == nil {
		*done = countedOnce
	}
	return err
}

func without(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(others, s) })
}

func (l *Lists[T, K, V]) add(ctx context.Context, s kv.Store, gained, lost []string) error {
	places := slices.Concat(gained, lost)
	return l.atEach(ctx, s, places, func(s kv.Store, i int) error {
		delta := int64(1)
		if i >= len(gained) {
			delta = -1
		}
		return l.derived.tally.AddIn(ctx, s, places[i], delta)
	})
}

// recount sets the counters of places to the sizes of their lists, on account of
// changes that sent nothing after since. It returns errNotQuiet if it is too early
// for that.
func (l *Lists[T, K, V]) recount(ctx context.Context, s kv.Store, places []string, since time.Time) error {
	if l.derived == nil {
		return nil
	}
	return l.atEach(ctx, s, places, func(s kv.Store, i int) error { return l.recountOne(ctx, s, places[i], since) })
}

func (l *Lists[T, K, V]) recountOne(ctx context.Context, s kv.Store, place string, since time.Time) error {
	if whole := kv.PowersOf(l.host.Store()).Atomic; whole != nil {
		return whole(ctx, func(s kv.Store) error { return l.recountNow(ctx, s, place) })
	}
	now := l.host.DB().Now()
	begun, ended, ok := l.derived.get(place)
	if !ended.Before(since.Add(quietFor)) {
		return nil // It was counted again for another change.
	}
	if !ok {
		return l.beginRecount(ctx, s, place, now)
	}
	if now.Sub(begun.at) < quietFor {
		return errNotQuiet
	}
	members, err := l.logs.Count(ctx, s, place)
	if err != nil {
		return err
	}
	if members != begun.members {
		return l.beginRecount(ctx, s, place, now)
	}
	_, err = kv.One(ctx, s, kv.OpReplace(l.derived.tally.Key(place), begun.version, strconv.AppendInt(nil, int64(members), 10)))
	if kv.Raced(err) || errors.Is(err, kv.ErrUnclear) {
		return l.beginRecount(ctx, s, place, now)
	}
	if err == nil {
		l.derived.end(place, now)
		l.derived.tally.TellSoon(place, 0, int64(members))
	}
	return err
}

// recountNow is recountOne in a transaction, where nothing else changes.
func (l *Lists[T, K, V]) recountNow(ctx context.Context, s kv.Store, place string) error {
	members, err := l.logs.Count(ctx, s, place)
	if err != nil {
		return err
	}
	_, err = kv.One(ctx, s, kv.OpSet(l.derived.tally.Key(place), strconv.AppendInt(nil, int64(members), 10)))
	if err == nil {
		l.derived.tally.TellSoon(place, 0, int64(members))
	}
	return err
}

// beginRecount reads the counter and then the list. The write that ends the
// recount fails if the counter has changed since.
func (l *Lists[T, K, V]) beginRecount(ctx context.Context, s kv.Store, place string, now time.Time) error {
	r, err := kv.One(ctx, s, kv.OpGet(l.derived.tally.Key(place)))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	members, err := l.logs.Count(ctx, s, place)
	if err != nil {
		return err
	}
	l.derived.put(place, recount{r.Version, members, now})
	return errNotQuiet
}

// finishRounds is how often a rebuild tries to count again, once in quietFor.
const finishRounds = 5

// finishCounting counts the lists again that a rebuild has come across. It waits
// until their counters have not changed for long enough.
func (l *Lists[T, K, V]) finishCounting(ctx context.Context) error {
	if l.derived == nil {
		return nil
	}
	rest, asked := l.derived.takeAsked(), l.host.DB().Now().Add(-quietFor)
	for round := 0; len(rest) > 0 && round < finishRounds; round++ {
		if round > 0 && !kv.Sleep(ctx, quietFor) {
			return fmt.Errorf("%w: %w", kv.ErrUnavailable, cmp.Or(ctx.Err(), context.DeadlineExceeded))
		}
		var err error
		if rest, err = l.recountAll(ctx, rest, asked); err != nil {
			return err
		}
	}
	if len(rest) > 0 {
		return fmt.Errorf("%s.%s: counters of %d values: %w", l.host.Model(), l.spec.Name, len(rest), errNotQuiet)
	}
	return nil
}

// recountAtOnce is how many lists are counted again side by side.
const recountAtOnce = 100

// recountAll counts places again and returns those for which it is too early.
func (l *Lists[T, K, V]) recountAll(ctx context.Context, places []string, since time.Time) (rest []string, err error) {
	for batch := range slices.Chunk(places, recountAtOnce) {
		early := make([]bool, len(batch))
		err := l.atEach(ctx, l.host.Store(), batch, func(s kv.Store, i int) error {
			err := l.recountOne(ctx, s, batch[i], since)
			if early[i] = errors.Is(err, errNotQuiet); early[i] {
				return nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		for i, place := range batch {
			if early[i] {
				rest = append(rest, place)
			}
		}
	}
	return rest, nil
}

// ask has places counted again when the rebuild ends.
func (c *derivedCount) ask(places []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, place := range places {
		c.asked[place] = true
	}
}

// takeAsked returns, in order, the places asked for, and forgets them.
func (c *derivedCount) takeAsked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	places := slices.Sorted(maps.Keys(c.asked))
	clear(c.asked)
	return places
}

// get returns the recount of place that waits, if there is one, and when the last
// recount ended.
func (c *derivedCount) get(place string) (begun recount, ended time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	begun, ok = c.begun[place]
	return begun, c.ended[place], ok
}

func (c *derivedCount) put(place string, r recount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun[place] = r
}

// end notes that place was counted again, and forgets what was long ago.
func (c *derivedCount) end(place string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.begun, place)
	maps.DeleteFunc(c.ended, func(_ string, at time.Time) bool { return now.Sub(at) > time.Hour })
	c.ended[place] = now
}
