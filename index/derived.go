package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A derived count follows the number of records in the lists of an index. A change adds its share
// in the trip of its commit, so that it is visible once the change is answered, and takes it back
// if it does not commit. On a store with Atomic the share is part of the commit. Elsewhere an
// answer may be missing, or the process may die. Then the number is in doubt: see
// [kvmodel.Derived].

// Counted makes a counter of another model follow the lists: the derived count of the record whose
// id is the list's value. Expiring records are not counted down, so they must not be counted.
func Counted(model, counter string) ListOption {
	return func(o *listOptions) {
		o.derived = func(db *kvmodel.DB, _, _ string) *kvmodel.Derived { return db.Derived(model, counter) }
		o.says = true
	}
}

// ForValues counts the lists like Counted, in a count of their own, for ranking.NewValues. The
// definition of the lists does not change, since the definition of the values determines whether
// the numbers are right.
func ForValues() ListOption {
	return func(o *listOptions) {
		o.derived = func(db *kvmodel.DB, model, list string) *kvmodel.Derived {
			return db.Derived(model, plug.ValuesName(list))
		}
	}
}

// counted is lists as seen by their derived count.
type counted struct{ *lists }

func (l counted) Members(ctx context.Context, s kv.Store, place string) (m kvmodel.Members, err error) {
	m.N, m.Sum, err = l.logs.Digest(ctx, s, place)
	return m, err
}

// Mend checks the entries that no fold has checked against the records.
func (l counted) Mend(ctx context.Context, s kv.Store, place string) (mended bool, err error) {
	err = l.logs.Open(ctx, s, place, func(entries []memberlog.Entry) error {
		some, err := l.mend(ctx, s, place, entries)
		mended = mended || some
		return err
	})
	return mended, err
}

// Counts reports whether a derived count follows the lists.
func (l *lists) Counts() bool { return l.derived != nil }

func (l *lists) isAtomic() bool { return isAtomic(l.host) }

func isAtomic(h plug.Host) bool { return kv.PowersOf(h.Store()).Atomic != nil }

// countsBeside reports whether m is a change that is counted in the trip of its commit.
func (l *lists) countsBeside(m *plug.Move) bool {
	return l.derived != nil && m.Added != nil && !l.isAtomic()
}

// shares returns the amounts to add for m: its share of each number, less the additions of earlier
// tries.
func shares(m *plug.Move) (all []plug.Share) {
	for _, place := range plug.Without(m.Is, m.Was) {
		all = append(all, plug.Share{Place: place, By: 1})
	}
	for _, place := range plug.Without(m.Was, m.Is) {
		all = append(all, plug.Share{Place: place, By: -1})
	}
	for _, sent := range m.Added.Shares {
		at := slices.IndexFunc(all, func(s plug.Share) bool { return s.Place == sent.Place })
		if at < 0 {
			all = append(all, plug.Share{Place: sent.Place})
			at = len(all) - 1
		}
		all[at].By -= sent.By
	}
	return slices.DeleteFunc(all, func(s plug.Share) bool { return s.By == 0 })
}

// add adds more to the numbers, and records the results in added.
func (l *lists) add(ctx context.Context, s kv.Store, added *plug.Added, more []plug.Share) {
	if len(more) > 0 && added.Began.IsZero() {
		added.Began = l.host.DB().Now()
	}
	errs := kv.Each(ctx, s, more, func(s kv.Store, i int, share plug.Share) (err error) {
		more[i].Sum, err = l.derived.Add(ctx, s, share.Place, share.By)
		return err
	})
	for i, share := range more {
		if errs[i] != nil {
			added.Doubt = append(added.Doubt, share.Place)
			continue
		}
		added.Note(share)
	}
}

// count adds the shares of moves in a transaction that already has all their entries. It counts the
// list of a missing number.
func (l *lists) count(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	total := make(map[string]int64)
	for _, m := range moves {
		if m.Added == nil {
			continue // it belongs to a rebuild
		}
		for _, share := range shares(m) {
			total[share.Place] += share.By
		}
	}
	for _, place := range slices.Sorted(maps.Keys(total)) {
		sum, err := l.derived.Add(ctx, s, place, total[place])
		if errors.Is(err, kv.ErrNotFound) {
			sum, err = l.derived.Count(ctx, s, place)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", l.name(place), err)
		}
		l.derived.Tell(ctx, s, place, total[place], sum)
	}
	return nil
}

// tell reports the additions of m to the followers of the numbers.
func (l *lists) tell(ctx context.Context, s kv.Store, m *plug.Move) {
	_ = kv.Each(ctx, s, m.Added.Shares, func(s kv.Store, _ int, share plug.Share) error {
		if share.By != 0 {
			l.derived.Tell(ctx, s, share.Place, share.By, share.Sum)
		}
		return nil
	})
}

// followed makes the followers of the numbers catch up with all changes of moves.
func (l *lists) followed(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	var places []string
	for _, m := range moves {
		for _, share := range l.changed(m) {
			places = append(places, share.Place)
		}
	}
	slices.Sort(places)
	if err := l.derived.Followed(ctx, s, slices.Compact(places)); err != nil {
		return err
	}
	for _, m := range moves {
		underWayOf(m).followed = true
	}
	return nil
}

// changed returns the changes of m to numbers, unless followed. A share of 0 was larger in between.
func (l *lists) changed(m *plug.Move) []plug.Share {
	switch {
	case m.Added == nil || underWayOf(m).followed:
		return nil
	case l.isAtomic():
		return shares(m)
	}
	return m.Added.Shares
}

// Undo takes back the additions of a change that did not commit.
func (l *lists) Undo(ctx context.Context, s kv.Store, added *plug.Added, places []string, doubt bool) error {
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
		l.derived.Tell(ctx, s, share.Place, 0, -1)
	}
	return cmp.Or(l.derived.Followed(ctx, s, places), l.putInDoubt(added))
}

// settleMove settles the additions of m. Slow additions are in doubt, too.
func (l *lists) settleMove(m *plug.Move) error {
	if m.Added == nil || l.isAtomic() {
		return nil
	}
	if m.Added.Since.IsZero() && (l.tooLate(m.Began) || l.tooLate(m.Added.Began)) {
		m.Added.Doubt = append(append(m.Added.Doubt, m.Is...), m.Lost...)
	}
	return l.putInDoubt(m.Added)
}

// putInDoubt puts in doubt what added says. It returns an ErrNotYet until that has been
// counted again.
func (l *lists) putInDoubt(added *plug.Added) error {
	if len(added.Doubt) == 0 {
		return nil
	}
	if added.Since.IsZero() {
		added.Since = l.host.DB().Now()
		for _, place := range added.Doubt {
			l.derived.Doubt(place, added.Since)
		}
	}
	for _, place := range added.Doubt {
		if err := l.derived.Settled(place, added.Since); err != nil {
			return fmt.Errorf("%s: %w", l.name(place), err)
		}
	}
	return nil
}

// tooLate reports whether it is too late, for work that began at began, to change a list or to rely
// on an addition without putting the number in doubt: a concurrent recount may have read the list
// before the former and written the number after the latter. A zero began is never too late.
func (l *lists) tooLate(began time.Time) bool {
	return !began.IsZero() && l.host.DB().Now().Sub(began) > times.Change
}

// firstRounds is how often a rebuild tries to count if nothing can be read before.
const firstRounds = 20

// recount recounts the lists at places, which are sorted. It waits until their numbers have not
// changed for long enough. It calls reached from time to time with the last place when it and all
// earlier ones are counted.
func (l *lists) recount(ctx context.Context, s kv.Store, places []string, reached func(place string) error) error {
	if l.derived == nil {
		return nil
	}
	first, rounds := len(l.total) > 0 && !l.host.Built(), kvmodel.RecountRounds
	if first {
		rounds = firstRounds
	}
	left, err := l.derived.Recount(ctx, s, places, rounds, reached)
	if left > 0 && first {
		err = fmt.Errorf("%w: %w", plug.ErrUnfit, err)
	}
	if left > 0 {
		err = fmt.Errorf("%s.%s: counters of %d values: %w", l.host.Model(), l.index, left, err)
	}
	return err
}
