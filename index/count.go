package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A derived count is a counter that follows the number of records in the lists
// of an index: each change adds to it what it means, once, after it has
// committed. On a store with Atomic that is part of the commit. Elsewhere it may
// be unclear, or its process may die before; then the counter is counted anew
// from the list. That is only right at a moment when no change has committed that
// has not yet sent what it adds, so the counter must not change for as long as
// that can take.

// Counted makes a counter of another model follow the lists: that of the record
// whose id is the value of the list. Nothing else may count there.
func Counted(model, counter string) ListOption {
	return func(o *listOptions) {
		o.count = func(db *kvmodel.DB) *count { return &count{tally: db.Tally(model, counter)} }
	}
}

// count is the counters that follow the lists of an index.
type count struct {
	tally *kvmodel.Tally

	mu    sync.Mutex // never held during a trip
	begun map[string]recount
	ended map[string]time.Time // when places were counted anew
	asked map[string]bool      // places that a rebuild has come by
}

// recount is one that waits for the counter to be left alone for long enough.
type recount struct {
	version kv.Version // of the counter before the list was counted; 0: absent
	members int
	at      time.Time
}

const (
	// sendWithin is how long after its beginning a change may still send what it
	// adds to a counter.
	sendWithin = 10 * time.Second

	// recentlyCounted is how old a recount may be that makes up for a process
	// that is dead: it has sent nothing for longer than a recount takes.
	recentlyCounted = 5 * time.Second

	// quietFor is how long a counter must not change to be counted anew: as long
	// as a change may take to send what it adds, and that to arrive.
	quietFor = 15 * time.Second
)

// errNotQuiet: a counter will be counted anew, but not yet.
var errNotQuiet = fmt.Errorf("%w: a counter has to be left alone for %v before it is counted anew", kvmodel.ErrNotYet, quietFor)

// how far the counting of one change has come.
type counting uint8

const (
	notCounted counting = iota
	countedOnce
	countUnclear
)

// moved adds to the counters what m means to them. done is how far an earlier
// call for the same change has come.
func (l *Lists[T, K, V]) moved(ctx context.Context, s kv.Store, m *plug.Move, done *counting) error {
	if l.count == nil || *done == countedOnce {
		return nil
	}
	gained, lost := without(m.Is, m.Was), without(m.Was, m.Is)
	inTime := kv.PowersOf(l.host.Store()).Atomic != nil || l.host.DB().Now().Sub(m.Began) <= sendWithin
	if *done == notCounted && inTime {
		*done = countUnclear
		err := l.add(ctx, s, gained, lost)
		if err == nil {
			*done = countedOnce
		}
		return err
	}
	*done = countUnclear
	err := l.recount(ctx, s, slices.Concat(gained, lost), m.Began.Add(sendWithin))
	if err == nil {
		*done = countedOnce
	}
	return err
}

func without(all, others []string) []string {
	var rest []string
	for _, s := range all {
		if !slices.Contains(others, s) {
			rest = append(rest, s)
		}
	}
	return rest
}

func (l *Lists[T, K, V]) add(ctx context.Context, s kv.Store, gained, lost []string) error {
	places := slices.Concat(gained, lost)
	return l.atEach(ctx, s, places, func(s kv.Store, i int) error {
		delta := int64(1)
		if i >= len(gained) {
			delta = -1
		}
		return l.count.tally.AddIn(ctx, s, places[i], delta)
	})
}

// recount makes the counters of places what their lists say, because of changes
// that sent nothing after since. It returns errNotQuiet if it is too early for
// that.
func (l *Lists[T, K, V]) recount(ctx context.Context, s kv.Store, places []string, since time.Time) error {
	if l.count == nil {
		return nil
	}
	return l.atEach(ctx, s, places, func(s kv.Store, i int) error { return l.recountOne(ctx, s, places[i], since) })
}

func (l *Lists[T, K, V]) recountOne(ctx context.Context, s kv.Store, place string, since time.Time) error {
	if whole := kv.PowersOf(l.host.Store()).Atomic; whole != nil {
		return whole(ctx, func(s kv.Store) error { return l.recountNow(ctx, s, place) })
	}
	now := l.host.DB().Now()
	begun, ended, ok := l.count.get(place)
	if !ended.Before(since.Add(quietFor)) {
		return nil // Another change had it counted anew.
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
	value := fmt.Appendf(nil, "%d", members)
	op := kv.OpAdd(l.count.tally.Key(place), value)
	if begun.version != 0 {
		op = kv.OpSwap(op.Key, begun.version, value)
	}
	_, err = kv.One(ctx, s, op)
	if gone(err) || errors.Is(err, kv.ErrExists) || errors.Is(err, kv.ErrUnclear) {
		return l.beginRecount(ctx, s, place, now)
	}
	if err == nil {
		l.count.end(place, now)
		l.count.tally.TellSoon(place, 0, int64(members))
	}
	return err
}

// recountNow counts anew where nobody else changes anything meanwhile.
func (l *Lists[T, K, V]) recountNow(ctx context.Context, s kv.Store, place string) error {
	members, err := l.logs.Count(ctx, s, place)
	if err != nil {
		return err
	}
	_, err = kv.One(ctx, s, kv.OpSet(l.count.tally.Key(place), fmt.Appendf(nil, "%d", members)))
	if err == nil {
		l.count.tally.TellSoon(place, 0, int64(members))
	}
	return err
}

// beginRecount reads the counter and then the list. Any change of the counter
// from then on is seen when it is to be written.
func (l *Lists[T, K, V]) beginRecount(ctx context.Context, s kv.Store, place string, now time.Time) error {
	r, err := kv.One(ctx, s, kv.OpGet(l.count.tally.Key(place)))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	members, err := l.logs.Count(ctx, s, place)
	if err != nil {
		return err
	}
	l.count.put(place, recount{r.Version, members, now})
	return errNotQuiet
}

// finishRounds is how often a rebuild looks whether the counters have been left
// alone, once in quietFor.
const finishRounds = 5

// Finish counts anew what a rebuild has come by. It waits until the counters
// have been left alone.
func (l *Lists[T, K, V]) Finish(ctx context.Context) error {
	if l.count == nil {
		return nil
	}
	rest, asked := l.count.takeAsked(), l.host.DB().Now().Add(-quietFor)
	for round := 0; len(rest) > 0 && round < finishRounds; round++ {
		if err := l.pause(ctx, round); err != nil {
			return err
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

// pause waits between two rounds.
func (l *Lists[T, K, V]) pause(ctx context.Context, round int) error {
	if round == 0 {
		return nil
	}
	select {
	case <-time.After(quietFor):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", kv.ErrUnavailable, ctx.Err())
	}
}

// recountAtOnce is how many counters are counted anew side by side.
const recountAtOnce = 100

// recountAll counts places anew and returns those for which it is too early.
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

// ask notes that places are to be counted anew when the rebuild ends.
func (c *count) ask(places []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil {
		c.asked = make(map[string]bool)
	}
	for _, place := range places {
		c.asked[place] = true
	}
}

// takeAsked returns, in order, what was asked for, and forgets it.
func (c *count) takeAsked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	places := slices.Sorted(maps.Keys(c.asked))
	c.asked = nil
	return places
}

// get returns the recount of place that waits, if there is one, and when the
// last one ended.
func (c *count) get(place string) (begun recount, ended time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	begun, ok = c.begun[place]
	return begun, c.ended[place], ok
}

func (c *count) put(place string, r recount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun == nil {
		c.begun = make(map[string]recount)
	}
	c.begun[place] = r
}

// end notes that place was counted anew, and forgets who was long ago.
func (c *count) end(place string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.begun, place)
	if c.ended == nil {
		c.ended = make(map[string]time.Time)
	}
	maps.DeleteFunc(c.ended, func(_ string, at time.Time) bool { return now.Sub(at) > time.Hour })
	c.ended[place] = now
}
