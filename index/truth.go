package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The records are the truth about a list. A fold checks unconfirmed entries against them, a rebuild
// all entries.

func (l *lists) confirm(ctx context.Context, s kv.Store, place string, entries []memberlog.Entry) ([]memberlog.Entry, error) {
	recs, err := l.seeThoseOf(ctx, s, entries)
	if err != nil {
		return nil, err
	}
	says := make([]memberlog.Entry, len(entries))
	for i, rec := range recs {
		switch plug.Judge(entries[i].Rev, rec.Rev, rec.Holds(place), 0) {
		case plug.Counts:
			says[i] = entries[i]
			says[i].Note = noteAt(rec.Places)
		case plug.Stale:
			says[i] = l.out(rec.ID, rec.Rev)
		}
	}
	return says, nil
}

// reconsider makes the change that wrote e fail if it has not committed, and removes e.
func (l *lists) reconsider(place string, e memberlog.Entry) {
	l.host.DB().Soon(func(ctx context.Context) error {
		says, err := l.confirm(ctx, l.host.Store(), place, []memberlog.Entry{e})
		if err == nil && says[0].Rev == 0 {
			err = l.host.Mend(ctx, l.host.Store(), e.ID, place, e.Rev)
		}
		return err
	})
}

func (l *lists) seeThoseOf(ctx context.Context, s kv.Store, entries []memberlog.Entry) ([]*plug.Seen, error) {
	return l.host.SeeBare(ctx, s, kv.Texts(entries, func(e memberlog.Entry) string { return e.ID })...)
}

const mendAtOnce = 16

func (l *lists) Meet(places []string) { l.met.Add(plug.Bares(places)) }

// Finish makes the lists found by a rebuild agree with their records, and then recounts them. Later
// changes come from processes that maintain the lists.
func (l *lists) Finish(ctx context.Context, s kv.Store, steps plug.Steps) error {
	l.met.Add(l.total)
	entered, from := l.met.Take(), steps.From()
	var damaged atomic.Bool
	for batch := range slices.Chunk(left(entered, from, mending), mendAtOnce) {
		n := loadAtOnce // finding them takes as long
		err := l.atEach(ctx, s, batch, func(s kv.Store, i int) error {
			some, err := l.mendAll(ctx, s, batch[i])
			n += some
			if !isHurt(err) {
				return err
			}
			damaged.Store(true)
			return l.logs.Discard(ctx, s, batch[i])
		})
		if err != nil {
			return err
		}
		if err := steps.Reached(ctx, append([]byte{mending}, batch[len(batch)-1]...), n); err != nil {
			return err
		}
	}
	if damaged.Load() {
		return fmt.Errorf("%s.%s: %w: parts of lists were lost or damaged", l.host.Model(), l.index, kvmodel.ErrNeedsRebuild)
	}
	return l.recount(ctx, s, left(entered, from, counting), func(place string) error {
		return steps.Reached(ctx, append([]byte{counting}, place...), plug.Many)
	})
}

func isHurt(err error) bool { return wire.IsCorrupt(err) || errors.Is(err, kvmodel.ErrNeedsRebuild) }

// Progress is a byte and the last finished place.
const (
	mending  = 1
	counting = 2 // after all are mended
)

func left(places []string, from []byte, what byte) []string {
	switch {
	case len(from) == 0 || from[0] < what || from[0] > counting:
		return places
	case from[0] > what:
		return nil
	}
	at, done := slices.BinarySearch(places, string(from[1:]))
	if done {
		at++
	}
	return places[at:]
}

func (l *lists) mendAll(ctx context.Context, s kv.Store, place string) (n int, err error) {
	err = l.logs.Entries(ctx, s, place, func(entries []memberlog.Entry) error {
		n += len(entries)
		_, err := l.mend(ctx, s, place, entries)
		return err
	})
	return n, err
}

func (l *lists) mend(ctx context.Context, s kv.Store, place string, entries []memberlog.Entry) (mended bool, err error) {
	for batch := range slices.Chunk(entries, loadAtOnce) {
		recs, err := l.seeThoseOf(ctx, s, batch)
		if err != nil {
			return mended, err
		}
		err = cmp.Or(kv.Each(ctx, s, recs, func(s kv.Store, i int, rec *plug.Seen) error {
			holds, e := rec.Holds(place), &batch[i]
			if holds == e.Member(l.host.DB().Now()) && (!holds || e.Note == noteAt(rec.Places)) {
				return nil
			}
			mended = true
			past := e.Rev
			if holds {
				past++ // an entry with the rev of e would not count
			}
			return l.host.Mend(ctx, s, rec.ID, place, past)
		})...)
		if err != nil {
			return mended, err
		}
	}
	return mended, nil
}
