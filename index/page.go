package index

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/index/internal/memberlog"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// maxPage is how many records a page has at most.
const maxPage = 1000

// maxBatches is how often a page is filled up, where records that were dropped
// leave it too short.
const maxBatches = 5

// Page returns up to n records of the list, from the place that cursor stands
// for, "" for the beginning, with the cursors of the pages around it. keep leaves
// out records; the page is filled up with others in up to four more trips, and
// then may be short and yet have a Next. n is from 1 to 1000.
//
// Two trips, three the first time. ErrBadCursor; ErrNeedsRebuild.
func (l *List[T, K]) Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	from, err := startOf(l.name, cursor, n)
	if err == nil {
		err = l.host.Ready(ctx)
	}
	if err != nil {
		return kvmodel.Listing[T]{}, err
	}
	p := &page[T, K]{List: l, ctx: ctx, start: from, n: n, keep: keep}
	if err := p.fill(); err != nil {
		return kvmodel.Listing[T]{}, l.failure(err)
	}
	return p.listing(), nil
}

// start is where a page begins and in which direction it goes.
type start struct {
	at   *memberlog.Position // nil: the beginning of the list
	back bool
}

// A cursor's place is a direction and the id it starts from, which is not on the
// page.
const (
	onward = '>'
	back   = '<'
)

func startOf(name, cursor string, n int) (start, error) {
	if n < 1 || n > maxPage {
		return start{}, fmt.Errorf("%s: %w: a page of %d, not of 1 to %d", name, kv.ErrBadOp, n, maxPage)
	}
	if cursor == "" {
		return start{}, nil
	}
	place, err := kvmodel.ParseCursor(name, cursor)
	if err != nil {
		return start{}, err
	}
	if len(place) == 0 || place[0] != onward && place[0] != back {
		return start{}, fmt.Errorf("%s: %w", name, kvmodel.ErrBadCursor)
	}
	at := memberlog.PositionOf(string(place[1:]))
	return start{&at, place[0] == back}, nil
}

func cursorTo(name string, direction byte, at memberlog.Position) string {
	return kvmodel.Cursor(name, append([]byte{direction}, at.ID...))
}

// cursors returns those of the pages after and before one that went from where
// start says up to last, of which first was the first, and more follows or not.
func (f start) cursors(name string, first, last *memberlog.Position, more bool) (next, prev string) {
	if last == nil {
		// There is nothing on the page, so nothing in its direction either.
		last = f.at
	}
	if first == nil {
		first = f.at
	}
	ahead, behind := "", ""
	if more {
		ahead = cursorTo(name, f.direction(), *last)
	}
	if f.at != nil {
		behind = cursorTo(name, f.opposite(), *first)
	}
	if f.back {
		return behind, ahead
	}
	return ahead, behind
}

func (f start) direction() byte { return directionOf(f.back) }

func (f start) opposite() byte { return directionOf(!f.back) }

func directionOf(goesBack bool) byte {
	if goesBack {
		return back
	}
	return onward
}

// window reads at least n members from at on in the direction of f. They are in
// that direction's order.
func (f start) window(ctx context.Context, logs *memberlog.Logs, s kv.Store, place string, at *memberlog.Position, n int) (memberlog.Window, error) {
	if !f.back {
		return logs.After(ctx, s, place, at, n)
	}
	w, err := logs.Before(ctx, s, place, *at, n)
	slices.Reverse(w.Members)
	return w, err
}

// page is a page of records that is being filled.
type page[T any, K comparable] struct {
	*List[T, K]
	ctx   context.Context
	start start
	n     int
	keep  []func(*T) bool

	items   []*T
	first   *memberlog.Position // of the items
	last    *memberlog.Position // that was looked at
	waiting memberlog.Window    // what was read and not looked at
	met     bool
}

func (p *page[T, K]) fill() error {
	at := p.start.at
	for batch := 0; batch < maxBatches && len(p.items) < p.n; batch++ {
		if len(p.waiting.Members) == 0 {
			var err error
			if p.waiting, err = p.start.window(p.ctx, p.logs, p.host.Store(), p.place, at, p.n); err != nil {
				return err
			}
		}
		if len(p.waiting.Members) == 0 {
			return nil
		}
		if err := p.take(); err != nil {
			return err
		}
		at = p.last
		if len(p.waiting.Members) == 0 && p.waiting.Ends {
			return nil
		}
	}
	return nil
}

// take loads the records of the next members and keeps those that belong on the
// page.
func (p *page[T, K]) take() error {
	batch := p.waiting.Members[:min(len(p.waiting.Members), p.n)]
	ids := make([]string, len(batch))
	for i := range batch {
		ids[i] = batch[i].ID
	}
	recs, err := p.host.See(p.ctx, p.host.Store(), ids...)
	if err != nil {
		return err
	}
	for i, rec := range recs {
		if len(p.items) == p.n {
			return nil
		}
		p.look(batch[i], rec)
		p.waiting.Members = p.waiting.Members[1:]
	}
	return nil
}

func (p *page[T, K]) look(m memberlog.Member, rec *plug.Seen[T]) {
	p.last = &m.Position
	if !rec.Holds(p.place) {
		if !p.met {
			p.met = true
			p.meet(m, rec)
		}
		return
	}
	if !kept(rec.Value, p.keep) {
		return
	}
	if p.first == nil {
		p.first = &m.Position
	}
	p.items = append(p.items, rec.Value)
}

func (p *page[T, K]) listing() kvmodel.Listing[T] {
	more := p.last != nil && (len(p.waiting.Members) > 0 || !p.waiting.Ends)
	next, prev := p.start.cursors(p.name, p.first, p.last, more)
	if p.start.back {
		slices.Reverse(p.items)
	}
	return kvmodel.Listing[T]{Items: p.items, Next: next, Prev: prev}
}

// oneIn is true once in n times.
func oneIn(n int) bool {
	var b [1]byte
	// It never fails: the runtime ends the program rather.
	_, _ = rand.Read(b[:])
	return int(b[0])%n == 0
}
