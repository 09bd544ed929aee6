package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
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
	asked map[string]bool      // places that a rebuild has asked for
}

// recount is one that waits for the counter to be left alone for long enough.
type recount struct {
	version kvmodel.Version // of the counter before the list was counted; 0: absent
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
var errNotQuiet = errors.New("a counter has to be left alone before it is counted anew")

// how far the counting of one change has come.
type counting uint8

const (
	notCounted counting = iota
	countedOnce
	countUnclear
)

// moved adds to the counters what m means to them. done is how far an earlier
// call for the same change has come.
func (l *Lists[T, K, V]) moved(ctx context.Context, s kvmodel.Store, m *kvmodel.Move, done *counting) error {
	if l.count == nil || *done == countedOnce {
		return nil
	}
	gained, lost := without(m.Is, m.Was), without(m.Was, m.Is)
	inTime := kvmodel.PowersOf(l.host.Store()).Atomic != nil || l.host.DB().Now().Sub(m.Began) <= sendWithin
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

func (l *Lists[T, K, V]) add(ctx context.Context, s kvmodel.Store, gained, lost []string) error {
	places := slices.Concat(gained, lost)
	return l.atEach(ctx, s, places, func(s kvmodel.Store, i int) error {
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
func (l *Lists[T, K, V]) recount(ctx context.Context, s kvmodel.Store, places []string, since time.Time) error {
	if l.count == nil {
		return nil
	}
	return l.atEach(ctx, s, places, func(s kvmodel.Store, i int) error { return l.recountOne(ctx, s, places[i], since) })
}

func (l *Lists[T, K, V]) recountOne(ctx context.Context, s kvmodel.Store, place string, since time.Time) error {
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
	op := kvmodel.OpAdd(l.count.tally.Key(place), value)
	if begun.version != 0 {
		op = kvmodel.OpSwap(op.Key, begun.version, value)
	}
	_, err = kvmodel.One(ctx, s, op)
	if gone(err) || errors.Is(err, kvmodel.ErrExists) || errors.Is(err, kvmodel.ErrUnclear) {
		return l.beginRecount(ctx, s, place, now)
	}
	if err == nil {
		l.count.end(place, now)
		l.count.tally.TellSoon(place, 0, int64(members))
	}
	return err
}

// beginRecount reads the counter and then the list. Any change of the counter
// from then on is seen when it is to be written.
func (l *Lists[T, K, V]) beginRecount(ctx context.Context, s kvmodel.Store, place string, now time.Time) error {
	r, err := kvmodel.One(ctx, s, kvmodel.OpGet(l.count.tally.Key(place)))
	if err != nil && !errors.Is(err, kvmodel.ErrNotFound) {
		return err
	}
	members, err := l.logs.Count(ctx, s, place)
	if err != nil {
		return err
	}
	l.count.put(place, recount{r.Version, members, now})
	return errNotQuiet
}

// recountSoon counts places anew in the background, each once for all who ask.
func (l *Lists[T, K, V]) recountSoon(places []string) {
	asked := l.host.DB().Now()
	for _, place := range places {
		if l.count.ask(place) {
			l.host.DB().Surely(func(ctx context.Context) error {
				err := l.recountOne(ctx, l.host.Store(), place, asked)
				if err == nil {
					l.count.answered(place)
				}
				return err
			})
		}
	}
}

// ask notes that place is to be counted anew, and tells whether it was not yet.
func (c *count) ask(place string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil {
		c.asked = make(map[string]bool)
	}
	was := c.asked[place]
	c.asked[place] = true
	return !was
}

func (c *count) answered(place string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, place)
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
