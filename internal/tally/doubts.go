package tally

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A number in doubt is recounted in a round:
//
//   1. times.Settled after the doubt arose, the number is read, and then its list.
//   2. times.Settled later the list is read again.
//   3. If the members are the same, records confirm them and the number has not changed, their sum
// becomes the number, settled once its SureFollower has followed.
//
// Changes in flight at 1 have ended at 2 and show in the list. A later change makes the write fail.
// A member that no record confirms at 3 comes from a dead process and is removed.

var errNotQuiet = fmt.Errorf("%w: a list is counted again once nothing has changed for %v", work.ErrNotYet, times.Settled)

type doubts struct {
	mu   sync.Mutex
	open map[string]*doubt
	done map[string]time.Time // start of the last successful round
}

type doubt struct {
	since time.Time // when its latest reason arose

	// The round in progress; began is zero if there is none.
	began   time.Time
	version kv.Version // of the number; 0: absent
	members Members
}

func (d doubt) begun() bool { return !d.began.Before(d.since.Add(times.Settled)) }

// due returns when the round can begin or end.
func (d doubt) due() time.Time {
	if d.begun() {
		return d.began.Add(times.Settled)
	}
	return d.since.Add(times.Settled)
}

// Doubt is for a reason that arose at since or before.
func (d *doubts) Doubt(id string, since time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open, d.done = make(map[string]*doubt), make(map[string]time.Time)
	}
	if d.open[id] == nil {
		d.open[id] = new(doubt)
	}
	if now := d.open[id]; since.After(now.since) {
		now.since = since
	}
}

func (d *doubts) Suspect(id string, now time.Time) {
	if _, ok := d.get(id); !ok {
		d.Doubt(id, now)
	}
}

func (d *doubts) InDoubt() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.open)
}

func (d *doubts) Settled(id string, since time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done[id].Before(since.Add(times.Settled)) {
		return errNotQuiet
	}
	return nil
}

func (d *doubts) ids() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.open))
}

func (d *doubts) get(id string) (doubt, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.open[id]; now != nil {
		return *now, true
	}
	return doubt{}, false
}

func (d *doubts) due(ids []string) (due time.Time) {
	for _, id := range ids {
		if about, ok := d.get(id); ok && about.due().After(due) {
			due = about.due()
		}
	}
	return due
}

func (d *doubts) begin(id string, round doubt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.open[id]; now != nil {
		now.began, now.version, now.members = round.began, round.version, round.members
	}
}

func (d *doubts) recounted(id string, began time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.done, func(_ string, at time.Time) bool { return began.Sub(at) > time.Hour })
	d.done[id] = began
	now := d.open[id]
	switch {
	case now == nil:
	case began.Before(now.since.Add(times.Settled)):
		now.began = time.Time{}
	default:
		delete(d.open, id)
	}
}

const recountedAtOnce = 100

const RecountRounds = 5

// Recount recounts ids, up to rounds times, and waits. The first round begins immediately. If
// numbers are not quiet for long enough, it returns how many are left, and an ErrNotYet. It calls
// reached with an id when all up to it are counted.
func (d *Derived) Recount(ctx context.Context, s kv.Store, ids []string, rounds int, reached func(id string) error) (left int, err error) {
	since := d.base.Now().Add(-times.Settled)
	for round := range rounds {
		if round > 0 && !kv.Pause(ctx, s, d.due(ids).Sub(d.base.Now())) {
			return 0, kv.TooLate(ctx)
		}
		var open []string
		for some := range slices.Chunk(ids, d.atOnce()) {
			if round == 0 {
				for _, id := range some {
					d.Doubt(id, since)
				}
			}
			if err := d.recountSome(ctx, s, some, d.base.Now()); err != nil {
				return 0, err
			}
			open = append(open, slices.DeleteFunc(slices.Clone(some), func(id string) bool { return d.Settled(id, since) == nil })...)
			if len(open) > 0 {
				continue
			}
			if err := reached(some[len(some)-1]); err != nil {
				return 0, err
			}
		}
		if ids = open; len(ids) == 0 {
			return 0, nil
		}
	}
	return len(ids), errNotQuiet
}

func (d *Derived) atOnce() int {
	if d.base.Atomic != nil {
		return recountedAtOnce / 10
	}
	return recountedAtOnce
}

func (d *Derived) RecountDoubtful(ctx context.Context) error {
	var errs []error
	now := d.base.Now()
	for some := range slices.Chunk(d.ids(), recountedAtOnce) {
		errs = append(errs, d.recountSome(ctx, d.base.Store, some, now))
	}
	return work.FirstError(errs...)
}

type counted struct {
	id    string
	n     int64
	began time.Time // of the round
}

func (d *Derived) recountSome(ctx context.Context, s kv.Store, ids []string, now time.Time) error {
	ends := make([]*counted, len(ids))
	errs := kv.Each(ctx, s, ids, func(s kv.Store, i int, id string) (err error) {
		ends[i], err = d.recountOne(ctx, s, id, now)
		return err
	})
	return work.FirstError(append(errs, d.endRounds(ctx, s, ends))...)
}

func (d *Derived) endRounds(ctx context.Context, s kv.Store, ends []*counted) error {
	ends = slices.DeleteFunc(ends, func(c *counted) bool { return c == nil })
	if err := d.Followed(ctx, s, kv.Texts(ends, func(c *counted) string { return c.id })); err != nil {
		return err
	}
	for _, c := range ends {
		d.recounted(c.id, c.began)
		d.tellSoon(ctx, []Told{{ID: c.id, Sum: c.n}})
	}
	return nil
}

func (d *Derived) recountOne(ctx context.Context, s kv.Store, id string, now time.Time) (*counted, error) {
	if d.base.Atomic != nil {
		return nil, d.recountNow(ctx, id, now)
	}
	about, ok := d.get(id)
	switch {
	case !ok || now.Before(about.due()):
		return nil, nil
	case !about.begun():
		return nil, d.beginRound(ctx, s, id, now)
	}
	return d.endRound(ctx, s, id, now, about)
}

func (d *Derived) beginRound(ctx context.Context, s kv.Store, id string, now time.Time) error {
	r, err := kv.One(ctx, s, kv.OpGet(d.Key(id)))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	members, err := (*d.lists.Load()).Members(ctx, s, id)
	if err == nil {
		d.begin(id, doubt{began: now, version: r.Version, members: members})
	}
	return err
}

func (d *Derived) endRound(ctx context.Context, s kv.Store, id string, now time.Time, round doubt) (*counted, error) {
	members, err := (*d.lists.Load()).Members(ctx, s, id)
	if err != nil {
		return nil, err
	}
	if members != round.members {
		return nil, d.beginRound(ctx, s, id, now)
	}
	mended, err := (*d.lists.Load()).Mend(ctx, s, id)
	if err != nil {
		return nil, err
	}
	if mended {
		return nil, d.beginRound(ctx, s, id, now)
	}
	_, err = kv.One(ctx, s, kv.OpReplace(d.Key(id), round.version, d.stored(members.N)))
	if kv.Raced(err) || errors.Is(err, kv.ErrUnclear) {
		return nil, d.beginRound(ctx, s, id, now)
	}
	if err != nil {
		return nil, err
	}
	return &counted{id, members.N, round.began}, nil
}

func (d *Derived) recountNow(ctx context.Context, id string, now time.Time) error {
	var n int64
	err := d.base.Atomic(ctx, func(s kv.Store) (err error) {
		if n, err = d.Count(ctx, s, id); err != nil {
			return err
		}
		return d.Followed(ctx, s, []string{id})
	})
	if err == nil {
		// No change was in flight, so every doubt until now is settled.
		d.recounted(id, now.Add(times.Settled))
		d.tellSoon(ctx, []Told{{ID: id, Sum: n}})
	}
	return err
}
