package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A derived number follows the lists of an index: their lengths, or the sum of a number over their
// records. A change adds its share in the trip of its commit, so that it counts at the reply, and
// takes it back if it does not commit. Without Atomic, an answer may be missing or the process may
// die; then the number is in doubt: see [tally.Derived].
//
// A record's share, if not always 1, is the note of its entries, so the numbers can be recounted
// from the lists. A change of the note is a change of place.

type figure struct {
	*tally.Derived
	def string                      // its part of the definition of the lists
	of  func(rec plug.Record) int64 // share of a record; nil: 1
	at  int
}

// Counted makes a counter of another model follow the lists: the derived count of the record whose
// id is the list's value. The records must not expire, since nothing would count them down.
func Counted(model, counter string) ListOption {
	return following(figure{def: " counted in " + model + "." + counter}, func(db *kvmodel.DB, _, _ string) *tally.Derived {
		return db.Derived(model, counter)
	})
}

// CountedIf is Counted for the records that counts selects. name is part of the definition of the
// lists.
func CountedIf[T any](model, counter, name string, counts func(*T) bool) ListOption {
	f := figure{def: fmt.Sprintf(" counted in %s.%s if %s", model, counter, name)}
	f.of = func(rec plug.Record) int64 {
		if counts(rec.(*T)) {
			return 1
		}
		return 0
	}
	return following(f, func(db *kvmodel.DB, _, _ string) *tally.Derived { return db.Derived(model, counter) })
}

// Summed is Counted for a sum: each record adds its result of the func, up to MaxSummand. name is
// part of the definition of the lists.
func Summed[T any](model, counter, name string, of func(*T) int64) ListOption {
	f := figure{def: fmt.Sprintf(" summed in %s.%s of %s", model, counter, name), of: plug.Untyped(of)}
	return following(f, func(db *kvmodel.DB, _, _ string) *tally.Derived { return db.Sum(model, counter) })
}

// ForValues is Counted in a count of its own, for ranking.NewValues. It does not change the
// definition of the lists: that of the values says whether the numbers are right.
func ForValues() ListOption {
	return following(figure{}, func(db *kvmodel.DB, model, list string) *tally.Derived {
		return db.Derived(model, plug.ValuesName(list))
	})
}

func following(f figure, derived func(db *kvmodel.DB, model, list string) *tally.Derived) ListOption {
	return func(o *listOptions) {
		if f.of != nil {
			f.at, o.parts = o.parts, o.parts+1
		}
		o.figures = append(o.figures, func(db *kvmodel.DB, model, list string) figure {
			f.Derived = derived(db, model, list)
			return f
		})
	}
}

// MaxSummand bounds the amount that one record adds to a sum or subtracts from it.
const MaxSummand = 1 << 40

func (f *figure) check(rec plug.Record) error {
	if f.of == nil {
		return nil
	}
	if n := f.of(rec); n > MaxSummand || n < -MaxSummand {
		return fmt.Errorf("%w: %d for %s, which takes up to %d of each record", kvmodel.ErrInvalid, n, f.Name(), int64(MaxSummand))
	}
	return nil
}

func (l *lists) note(rec plug.Record) string {
	var parts []string
	for i := range l.figures {
		if f := &l.figures[i]; f.of != nil {
			parts = append(parts, strconv.FormatInt(f.of(rec), 10))
		}
	}
	return strings.Join(parts, noteComma)
}

const noteComma = ","

func noteAt(places []string) memberlog.Note {
	if len(places) == 0 {
		return memberlog.Note{}
	}
	return memberlog.NoteOf(plug.NoteOf(places[0]))
}

// An entry without a note is older than f; a rebuild replaces it.
func (f *figure) share(note string) int64 {
	if f.of == nil {
		return 1
	}
	for range f.at {
		_, note, _ = strings.Cut(note, noteComma)
	}
	note, _, _ = strings.Cut(note, noteComma)
	n, _ := strconv.ParseInt(note, 10, 64)
	return n
}

func (l *lists) eachFigure(ctx context.Context, s kv.Store, step func(kv.Store, *figure) error) error {
	return atEach(ctx, s, len(l.figures), func(s kv.Store, i int) error { return step(s, &l.figures[i]) }, func(_ int, err error) error { return err })
}

func (l *lists) begin(ctx context.Context, s kv.Store, place, note string) (made bool) {
	_ = l.eachFigure(ctx, s, func(s kv.Store, f *figure) error {
		if f.share(note) != 0 && f.Begin(ctx, s, place) {
			made = true
		}
		return nil
	})
	return made
}

func (l *lists) doubt(places []string) {
	for i := range l.figures {
		for _, place := range places {
			l.figures[i].Doubt(place, l.host.DB().Now())
		}
	}
}

type counted struct {
	*lists
	i int
}

func (l counted) Members(ctx context.Context, s kv.Store, place string) (m tally.Members, err error) {
	m.N, m.Sum, err = l.logs.Digest(ctx, s, place, l.figures[l.i].share)
	return m, err
}

func (l counted) Mend(ctx context.Context, s kv.Store, place string) (mended bool, err error) {
	err = l.logs.Open(ctx, s, place, func(entries []memberlog.Entry) error {
		some, err := l.mend(ctx, s, place, entries)
		mended = mended || some
		return err
	})
	return mended, err
}

func (l *lists) Counts() bool { return len(l.figures) > 0 }

func (l *lists) Notes() bool {
	return slices.ContainsFunc(l.figures, func(f figure) bool { return f.of != nil })
}

func (l *lists) isAtomic() bool { return isAtomic(l.host) }

func isAtomic(h plug.Host) bool { return kv.PowersOf(h.Store()).Atomic != nil }

func (l *lists) countsBeside(m *plug.Move) bool {
	return l.Counts() && m.Added != nil && !l.isAtomic()
}

func (l *lists) shares(m *plug.Move) []plug.Share {
	var sum plug.Added
	for _, place := range plug.Without(m.Is, m.Was) {
		l.addPlace(&sum, place, 1)
	}
	for _, place := range plug.Without(m.Was, m.Is) {
		l.addPlace(&sum, place, -1)
	}
	for _, sent := range m.Added.Shares {
		sent.By = -sent.By
		sum.Add(sent)
	}
	return slices.DeleteFunc(sum.Shares, func(s plug.Share) bool { return s.By == 0 })
}

func (l *lists) addPlace(sum *plug.Added, place string, times int64) {
	for i := range l.figures {
		sum.Add(plug.Share{Place: plug.Bare(place), Number: i, By: times * l.figures[i].share(plug.NoteOf(place))})
	}
}

func (l *lists) add(ctx context.Context, s kv.Store, added *plug.Added, more []plug.Share) {
	if len(more) > 0 && added.Began.IsZero() {
		added.Began = l.host.DB().Now()
	}
	errs := kv.Each(ctx, s, more, func(s kv.Store, i int, share plug.Share) (err error) {
		more[i].Sum, err = l.figures[share.Number].Add(ctx, s, share.Place, share.By)
		return err
	})
	for i, share := range more {
		if errors.Is(errs[i], kv.ErrSkipped) {
			continue
		}
		if errs[i] != nil {
			added.Doubt = append(added.Doubt, share.Place)
			continue
		}
		added.Add(share)
	}
}

// count adds the shares of moves in a transaction that already has all their entries, and makes the
// followers catch up.
func (l *lists) count(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	added := make([][]tally.Told, len(l.figures))
	var places []string
	var began map[string]bool // by EnterAll
	for _, m := range moves {
		if m.Added == nil {
			continue // a rebuild
		}
		if a, ok := m.Kept.(*entered); ok {
			began = a.began
		}
		for _, share := range l.shares(m) {
			added[share.Number] = append(added[share.Number], tally.Told{ID: share.Place, Delta: share.By, Begins: began[share.Place]})
			places = append(places, share.Place)
		}
	}
	for i := range l.figures {
		if err := l.figures[i].AddAll(ctx, s, added[i]); err != nil {
			return fmt.Errorf("%s.%s: %w", l.host.Model(), l.index, err)
		}
	}
	return l.eachFollowed(ctx, s, places)
}

func (l *lists) tell(ctx context.Context, s kv.Store, m *plug.Move) {
	_ = kv.Each(ctx, s, m.Added.Shares, func(s kv.Store, _ int, share plug.Share) error {
		if share.By != 0 {
			l.figures[share.Number].Tell(ctx, s, share.Place, share.By, share.Sum)
		}
		return nil
	})
}

func (l *lists) followed(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	var places []string
	for _, m := range moves {
		for _, share := range l.changed(m) {
			places = append(places, share.Place)
		}
	}
	if err := l.eachFollowed(ctx, s, places); err != nil {
		return err
	}
	for _, m := range moves {
		underWayOf(m).followed = true
	}
	return nil
}

func (l *lists) eachFollowed(ctx context.Context, s kv.Store, places []string) error {
	places = slices.Compact(slices.Sorted(slices.Values(places)))
	return l.eachFigure(ctx, s, func(s kv.Store, f *figure) error { return f.Followed(ctx, s, places) })
}

// changed returns the changes of m that followers lack, with shares of 0, which had other values in
// between.
func (l *lists) changed(m *plug.Move) []plug.Share {
	if m.Added == nil || underWayOf(m).followed {
		return nil
	}
	return m.Added.Shares
}

func (l *lists) Undo(ctx context.Context, s kv.Store, added *plug.Added, places []string, doubt bool) error {
	places = plug.Bares(places)
	back := added.Shares
	added.Shares = nil
	if doubt {
		added.Doubt, back = append(added.Doubt, places...), nil
	}
	for i := range back {
		back[i].By = -back[i].By
	}
	l.add(ctx, s, added, back)
	for _, share := range back {
		l.figures[share.Number].Tell(ctx, s, share.Place, 0, tally.None)
	}
	return cmp.Or(l.eachFollowed(ctx, s, places), l.putInDoubt(added))
}

// The additions of a slow change are in doubt, too.
func (l *lists) awaitRecount(m *plug.Move) error {
	if m.Added == nil {
		return nil
	}
	if m.Added.Since.IsZero() && (l.tooLate(m.Began) || l.tooLate(m.Added.Began)) {
		m.Added.Doubt = append(m.Added.Doubt, plug.Bares(slices.Concat(m.Is, m.Lost))...)
	}
	return l.putInDoubt(m.Added)
}

// putInDoubt returns an ErrNotYet until the numbers in doubt are recounted.
func (l *lists) putInDoubt(added *plug.Added) error {
	if len(added.Doubt) == 0 {
		return nil
	}
	if added.Since.IsZero() {
		added.Since = l.host.DB().Now()
		l.doubt(added.Doubt)
	}
	for i := range l.figures {
		for _, place := range added.Doubt {
			if err := l.figures[i].Settled(place, added.Since); err != nil {
				return fmt.Errorf("%s: %w", l.name(place), err)
			}
		}
	}
	return nil
}

// tooLate reports whether work begun at began is too late to change a list, or to rely on an
// addition, without doubt: a concurrent recount may have read the list before the former and
// written the number after the latter. The zero time is never too late.
func (l *lists) tooLate(began time.Time) bool {
	return !began.IsZero() && l.host.DB().Now().Sub(began) > times.Change
}

const firstRounds = 20

// recount recounts the lists at places, sorted. If each list has one number, it calls reached from
// time to time with the last place counted.
func (l *lists) recount(ctx context.Context, s kv.Store, places []string, reached func(place string) error) error {
	if len(l.figures) > 1 {
		reached = func(string) error { return nil }
	}
	return l.eachFigure(ctx, s, func(s kv.Store, f *figure) error { return l.recountOne(ctx, s, f, places, reached) })
}

func (l *lists) recountOne(ctx context.Context, s kv.Store, f *figure, places []string, reached func(place string) error) error {
	first, rounds := len(l.total) > 0 && !l.host.Built(), tally.RecountRounds
	if first {
		rounds = firstRounds
	}
	left, err := f.Recount(ctx, s, places, rounds, reached)
	if left > 0 && first {
		err = fmt.Errorf("%w: %w", plug.ErrUnfit, err)
	}
	if left > 0 {
		err = fmt.Errorf("%s.%s: counters of %d values: %w", l.host.Model(), l.index, left, err)
	}
	return err
}
