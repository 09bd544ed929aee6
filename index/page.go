package index

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type start struct {
	at *memberlog.Position // nil: the beginning
	direction
}

func startOf(name, cursor string, n int) (start, error) {
	d, id, err := parseCursor(name, cursor, n)
	if err != nil || id == nil {
		return start{direction: d}, err
	}
	at := memberlog.PositionOf(string(id))
	return start{&at, d}, nil
}

// cursors returns the cursors around a page from f that begins with first and ends with last. more:
// something follows last.
func (f start) cursors(name string, first, last *memberlog.Position, more bool) (next, prev string) {
	if last == nil {
		// an empty page has nothing in its direction either
		last = f.at
	}
	if first == nil {
		first = f.at
	}
	ahead, behind := "", ""
	if more {
		ahead = encodeCursor(name, f.direction, []byte(last.ID))
	}
	if f.at != nil {
		behind = encodeCursor(name, f.opposite(), []byte(first.ID))
	}
	return f.inOrder(ahead, behind)
}

func (f start) window(ctx context.Context, logs *memberlog.Logs, s kv.Store, place string, at *memberlog.Position, n int) (memberlog.Window, error) {
	if f.direction == onward {
		return logs.After(ctx, s, place, at, n)
	}
	w, err := logs.Before(ctx, s, place, *at, n)
	w.Members = slices.Clone(w.Members) // may be shared
	slices.Reverse(w.Members)
	return w, err
}

func position(m *memberlog.Member) *memberlog.Position {
	if m == nil {
		return nil
	}
	at := m.Position()
	return &at
}

type page struct {
	*list
	ctx   context.Context
	s     kv.Store
	start start
	n     int
	keep  func(plug.Record) bool

	items   []plug.Record
	first   *memberlog.Member // of the first item
	last    *memberlog.Member // the last one checked
	looked  int               // members checked
	waiting memberlog.Window  // not checked yet
	met     bool
}

func (p *page) fill() error {
	at := p.start.at
	for ask := p.n; ask > 0; ask = plug.Ask(p.n, len(p.items), p.looked) {
		if len(p.waiting.Members) == 0 {
			var err error
			if p.waiting, err = p.start.window(p.ctx, p.logs, kv.Near(p.s), p.place, at, ask); err != nil {
				return err
			}
		}
		if len(p.waiting.Members) == 0 {
			return nil
		}
		if err := p.load(ask); err != nil {
			return err
		}
		at = position(p.last)
		if len(p.waiting.Members) == 0 && p.waiting.Ends {
			return nil
		}
	}
	return nil
}

func (p *page) load(n int) error {
	batch := p.waiting.Members[:min(len(p.waiting.Members), n)]
	ids := kv.Texts(batch, func(m memberlog.Member) string { return m.ID })
	recs, err := p.host.See(p.ctx, kv.Near(ahead.Then(p.s)), ids...)
	if err != nil {
		return err
	}
	if p.items == nil {
		p.items = make([]plug.Record, 0, len(batch))
	}
	for i, rec := range recs {
		if len(p.items) == p.n {
			return nil
		}
		p.add(&batch[i], rec)
		p.waiting.Members = p.waiting.Members[1:]
	}
	return nil
}

func (p *page) add(m *memberlog.Member, rec *plug.Seen) {
	p.last = m
	p.looked++
	if !rec.Holds(p.place) {
		p.passOver(m, rec)
		return
	}
	if p.keep != nil && !p.keep(rec.Value) {
		return
	}
	if p.first == nil {
		p.first = m
	}
	p.items = append(p.items, rec.Value)
}

// pending is the average number of reads before a reader makes an uncommitted change fail. If its
// process has died, its entry would otherwise stay until this process reads the list a minute
// later, if ever. If not, it should rarely be disturbed.
const pending = 8

func (p *page) passOver(m *memberlog.Member, rec *plug.Seen) {
	verdict := judgeStray(m.Entry, rec, p.host.DB().Now())
	if verdict == plug.Dead {
		p.host.MendSoon(rec.ID, p.place, m.Rev)
		return
	}
	switch {
	case p.met:
	case verdict == plug.Stale:
		p.host.MendSoon(rec.ID, p.place, 0)
	case kv.Random()%pending == 0:
		p.host.MendSoon(rec.ID, p.place, m.Rev)
	}
	p.met = true
	if verdict == plug.Pending {
		p.logs.Pending(p.place, memberlog.Entry{ID: m.ID, Rev: m.Rev, In: true})
	}
}

func judgeStray(e memberlog.Entry, rec *plug.Seen, now time.Time) plug.Verdict {
	return plug.Judge(e.Rev, rec.Rev, false, plug.Age(e.Rev, rec.Envelope.Live(), now))
}

func (p *page) finish() (next, prev string) {
	more := p.last != nil && (len(p.waiting.Members) > 0 || !p.waiting.Ends)
	next, prev = p.start.cursors(p.name, position(p.first), position(p.last), more)
	if p.start.direction == back {
		slices.Reverse(p.items)
	}
	return next, prev
}

// direction is that of a page from its cursor's position, which is not on the page, and the
// cursor's first byte.
type direction byte

const (
	onward direction = '>'
	back   direction = '<'
)

func (d direction) opposite() direction {
	if d == back {
		return onward
	}
	return back
}

func (d direction) inOrder(ahead, behind string) (next, prev string) {
	if d == back {
		return behind, ahead
	}
	return ahead, behind
}

func parseCursor(name, cursor string, n int) (d direction, position []byte, err error) {
	if err := plug.CheckPage(name, n); err != nil {
		return onward, nil, err
	}
	if cursor == "" {
		return onward, nil, nil
	}
	b, err := plug.ParseCursor(name, cursor)
	if err != nil {
		return onward, nil, err
	}
	if len(b) == 0 || direction(b[0]) != onward && direction(b[0]) != back {
		return onward, nil, fmt.Errorf("%s: %w", name, kvmodel.ErrBadCursor)
	}
	return direction(b[0]), b[1:], nil
}

func encodeCursor(name string, d direction, position []byte) string {
	return plug.Cursor(name, append([]byte{byte(d)}, position...))
}
