package index

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Lists is an index from a value to all records that hold it: one [List] for each value. A live
// record is in the lists of its values at every moment, and readers never get a record that does
// not hold the value.
//
// A change appends the record to the lists of its new values before it commits, and removes it from
// the lists of its old values afterwards, so any number of writers can work without conflicts.
// Readers load the records anyway, and skip those that no longer hold the value.
type Lists[T any, K comparable, V any] struct {
	spec kvmodel.IndexSpec[T, V]
	ids  kvmodel.KeyOf[K]
	all  *lists
}

// lists are Lists without their types.
type lists struct {
	index, def string
	places     func(plug.Record) []string
	limit      func(plug.Record) error // nil: none
	host       plug.Host
	logs       *memberlog.Logs

	ahead   ahead.Memory     // of first pages
	derived *kvmodel.Derived // nil: none
	says    bool             // the definition names derived
	total   []string         // all places of a Total, for which only the numbers are read
	met     plug.Places      // in a rebuild that has not ended
}

var listKey = kv.NewClass("l", 3) // model, index, value text

// ListOption configures lists.
type ListOption func(*listOptions)

type listOptions struct {
	hot     uint8
	derived func(db *kvmodel.DB, model, list string) *kvmodel.Derived
	says    bool     // the definition names that count
	total   []string // all places of a Total
}

// Hot divides each list into at least that many segments from the start, so that concurrent writers
// to one list rarely collide. The number is rounded up to a power of two, and a page reads that
// many keys.
func Hot(segments int) ListOption {
	return func(o *listOptions) { o.hot = uint8(bits.Len(uint(max(segments, 1) - 1))) }
}

// NewLists returns the index described by spec and plugs it into records.
func NewLists[T any, K comparable, V any](records *kvmodel.Records[T, K], spec kvmodel.IndexSpec[T, V], opts ...ListOption) *Lists[T, K, V] {
	o := optionsOf(opts)
	l := &lists{index: spec.Name, def: spec.Def, places: plug.Untyped(spec.Places), limit: plug.Untyped(spec.Limit), total: o.total}
	l.join(records, records.DB(), o)
	return &Lists[T, K, V]{spec, records.IDs(), l}
}

// join plugs l into r.
func (l *lists) join(r plug.Model, db *kvmodel.DB, o listOptions) {
	if o.derived != nil {
		l.derived, l.says = o.derived(db, r.ModelName(), l.index), o.says
	}
	r.Plug(l, func(host plug.Host) {
		if l.total != nil && host.Ends() {
			panic("index: the records of " + host.Model() + " cannot be counted: they expire")
		}
		l.host = host
		l.logs = newLogs(host.DB(), o)
		l.logs.Key = func(place string) string {
			return listKey.KeyOfText([]string{host.Model(), l.index}, place)
		}
		l.logs.Rebuilds, l.logs.Confirm, l.logs.Overdue = host.Rebuilds, l.confirm, l.reconsider
		if l.derived != nil {
			l.derived.Over(counted{l})
		}
	})
}

func optionsOf(opts []ListOption) (o listOptions) {
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

func newLogs(db plug.DB, o listOptions) *memberlog.Logs {
	return &memberlog.Logs{Hot: o.hot, Store: db.Store(), Now: db.Now, Soon: db.Soon, Limits: memberlog.DefaultLimits}
}

// Spec returns the IndexSpec of the lists.
func (l *Lists[T, K, V]) Spec() kvmodel.IndexSpec[T, V] { return l.spec }

// Derived returns the count that follows the lists, or nil.
func (l *Lists[T, K, V]) Derived() *kvmodel.Derived { return l.all.derived }

// Of returns the list of the records that hold v.
func (l *Lists[T, K, V]) Of(v V) *List[T, K] {
	return &List[T, K]{l.all.at(l.spec.Key.Text(v)), l.ids}
}

func (l *lists) at(place string) list {
	return list{l.host, &l.ahead, members{l.logs, l.host.Store(), place, l.name(place)}}
}

func (l *lists) name(place string) string {
	return fmt.Sprintf("%s.%s %q", l.host.Model(), l.index, place)
}

// Name returns the index's name.
func (l *lists) Name() string { return l.index }

// Def returns the index's definition, including the counter of another model that counts the lists.
func (l *lists) Def() string {
	if l.says {
		return l.def + " counted in " + l.derived.Name()
	}
	return l.def
}

// Places returns the texts of rec's values.
func (l *lists) Places(v plug.Record) []string { return l.places(v) }

// Limit returns an error if rec has too many values.
func (l *lists) Limit(rec plug.Record) error {
	if l.limit == nil {
		return nil
	}
	return l.limit(rec)
}

// underWay is passed from one step of a change to the next: the entry, its position at each gained
// place, whether followers were told about the count, and whether a SureFollower has followed.
type underWay struct {
	entry    memberlog.Entry
	tickets  []memberlog.Ticket
	told     bool
	followed bool
}

// underWayOf returns the data from the earlier steps of m.
func underWayOf(m *plug.Move) *underWay {
	a, ok := m.Kept.(*underWay)
	if !ok { // a deletion gains nothing
		a = new(underWay)
		m.Kept = a
	}
	return a
}

// Prepare adds the record to the lists of its new values, and ensures that counted lists have
// numbers.
func (l *lists) Prepare(ctx context.Context, s kv.Store, m *plug.Move) error {
	a := &underWay{entry: in(m.ID, m.Rev, m.Ends), tickets: make([]memberlog.Ticket, len(m.Gained))}
	m.Kept = a
	if m.Rev == m.Base { // a rebuild, which may be restoring a lost head
		for _, place := range m.Gained {
			l.logs.Forget(place)
		}
	}
	return l.atEach(ctx, s, m.Gained, func(s kv.Store, i int) (err error) {
		enter := func(s kv.Store) (err error) {
			a.tickets[i], err = l.logs.Append(ctx, s, m.Gained[i], a.entry)
			return err
		}
		if !l.countsBeside(m) {
			return enter(s)
		}
		made := false
		begin := func(s kv.Store) error { made = l.derived.Begin(ctx, s, m.Gained[i]); return nil }
		if err := kv.Together(ctx, s, enter, begin)[0]; err != nil {
			return err
		}
		if made && !a.tickets[i].Began() {
			// The list has members that the new number does not count.
			m.Added.Doubt = append(m.Added.Doubt, m.Gained[i])
		}
		return nil
	})
}

// Beside ensures that the entries appended by Prepare count, and adds the change's shares to the
// numbers.
func (l *lists) Beside(ctx context.Context, s kv.Store, m *plug.Move) error {
	if !l.countsBeside(m) {
		return l.stand(ctx, s, m)
	}
	return kv.Together(ctx, s,
		func(s kv.Store) error { return l.stand(ctx, s, m) },
		func(s kv.Store) error { l.add(ctx, s, m.Added, shares(m)); return nil },
	)[0]
}

func (l *lists) stand(ctx context.Context, s kv.Store, m *plug.Move) error {
	a := underWayOf(m)
	return l.atEach(ctx, s, m.Gained, func(s kv.Store, i int) error {
		return l.logs.Settle(ctx, s, m.Gained[i], a.entry, &a.tickets[i])
	})
}

// Committed makes the change visible to readers of this process at once: additions, removals and
// new expiries that are not written yet, and numbers in doubt.
func (l *lists) Committed(m *plug.Move) {
	a := underWayOf(m)
	for i, place := range m.Gained {
		if !a.tickets[i].Settled() {
			l.logs.Expect(place, a.entry)
		}
	}
	for _, place := range m.Lost {
		l.logs.Expect(place, l.out(m.ID, m.Rev))
	}
	for _, place := range m.Renewed {
		l.logs.Expect(place, in(m.ID, m.Rev, m.Ends))
	}
	if l.countsBeside(m) {
		for _, place := range m.Added.Doubt {
			l.derived.Doubt(place, l.host.DB().Now())
		}
	}
}

// After removes the record from the lists of its old values, sets its new expiry in the others, and
// settles the counts.
func (l *lists) After(ctx context.Context, s kv.Store, m *plug.Move) error {
	return l.AfterAll(ctx, s, []*plug.Move{m})
}

// AfterAll does After for all moves, and updates the followers of the counts once for all of them.
func (l *lists) AfterAll(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	if err := cmp.Or(kv.Each(ctx, s, moves, func(s kv.Store, _ int, m *plug.Move) error { return l.follow(ctx, s, m) })...); err != nil {
		return err
	}
	if l.derived == nil {
		return nil
	}
	if l.isAtomic() {
		if err := l.count(ctx, s, moves); err != nil {
			return err
		}
	}
	err := l.followed(ctx, s, moves)
	for _, m := range moves {
		err = cmp.Or(err, l.settleMove(m))
	}
	return err
}

// follow writes the remaining entries of m, and reports the counts.
func (l *lists) follow(ctx context.Context, s kv.Store, m *plug.Move) error {
	write := func(s kv.Store) error { return l.leave(ctx, s, m) }
	if l.derived == nil || m.Added == nil || l.isAtomic() {
		return write(s)
	}
	works := []func(kv.Store) error{write}
	if a := underWayOf(m); !a.told {
		a.told = true
		works = append(works, func(s kv.Store) error { l.tell(ctx, s, m); return nil })
	}
	return kv.Together(ctx, s, works...)[0]
}

// leave removes the record of m from the lists it has left, and sets its new expiry in the others.
func (l *lists) leave(ctx context.Context, s kv.Store, m *plug.Move) error {
	places := slices.Concat(m.Lost, m.Renewed)
	return l.atEach(ctx, s, places, func(s kv.Store, i int) error {
		e := l.out(m.ID, m.Rev)
		if i >= len(m.Lost) {
			e = in(m.ID, m.Rev, m.Ends)
		}
		return l.put(ctx, s, places[i], e)
	})
}

// put adds e to the list at place.
func (l *lists) put(ctx context.Context, s kv.Store, place string, e memberlog.Entry) error {
	err := l.logs.Write(ctx, s, place, e)
	if err == nil {
		l.logs.Written(place, e)
	}
	return err
}

// in returns the entry of a record that expires at ends; zero means never.
func in(id string, rev uint64, ends time.Time) memberlog.Entry {
	e := memberlog.Entry{ID: id, Rev: rev, In: true}
	if !ends.IsZero() {
		e.At = ends.Unix() + 1
	}
	return e
}

func (l *lists) out(id string, rev uint64) memberlog.Entry {
	return memberlog.Entry{ID: id, Rev: rev, At: max(l.host.DB().Now().Unix(), 1)}
}

// Repair adds rec to the lists at places for the values it holds, and removes it from the others.
func (l *lists) Repair(ctx context.Context, s kv.Store, rec *plug.Seen, places []string) error {
	if rec.Rev == 0 { // nothing was ever written, or it was lost
		for _, place := range places {
			l.logs.Written(place, l.out(rec.ID, math.MaxUint64))
		}
		return nil
	}
	err := l.atEach(ctx, s, places, func(s kv.Store, i int) error {
		e := l.out(rec.ID, rec.Rev)
		if rec.Holds(places[i]) {
			e = in(rec.ID, rec.Rev, rec.Expires())
		}
		return l.put(ctx, s, places[i], e)
	})
	if err != nil || !rec.Doubt || l.derived == nil {
		return err
	}
	for _, place := range places {
		l.derived.Doubt(place, l.host.DB().Now())
	}
	return nil
}

// Forget removes the id from the lists of its record's values. With the last id it also removes the
// keys of a list and its number.
func (l *lists) Forget(ctx context.Context, s kv.Store, id string, rev uint64, places []string) error {
	return l.atEach(ctx, s, places, func(s kv.Store, i int) error {
		gone, err := l.logs.Erase(ctx, s, places[i], id, rev)
		return l.end(ctx, s, places[i], gone, err)
	})
}

// end removes the number of the list at place if the list is gone.
func (l *lists) end(ctx context.Context, s kv.Store, place string, gone bool, err error) error {
	if err != nil || !gone || l.derived == nil {
		return err
	}
	return l.derived.End(ctx, s, place)
}

// Each calls f with the ids of the records in the list at place.
func (l *lists) Each(ctx context.Context, s kv.Store, place string, f func(id string) error) error {
	if err := l.host.Ready(ctx); err != nil {
		return err
	}
	m := members{logs: l.logs, store: s, place: place, name: l.name(place)}
	return m.failure(m.eachText(ctx, f))
}

// Vacate removes the ids of the records that have left the list at place, after calling f with
// them. If no others remain, it also removes the keys of the list and its number.
func (l *lists) Vacate(ctx context.Context, s kv.Store, place string, f func(ids []string) error) error {
	now := l.host.DB().Now()
	err := l.logs.Entries(ctx, s, place, func(entries []memberlog.Entry) error {
		left := slices.DeleteFunc(entries, func(e memberlog.Entry) bool { return e.Member(now) })
		return f(kv.Texts(left, func(e memberlog.Entry) string { return e.ID }))
	})
	if err == nil {
		var gone bool
		gone, err = l.logs.EraseLeft(ctx, s, place)
		err = l.end(ctx, s, place, gone, err)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", l.name(place), err)
	}
	return err
}

// Check reports the values of recs missing in their lists.
func (l *lists) Check(ctx context.Context, s kv.Store, recs []*plug.Seen) ([][]string, error) {
	holders := plug.Holders(recs)
	wrong := make([][]string, len(recs))
	for places := range slices.Chunk(slices.Sorted(maps.Keys(holders)), checkedAtOnce) {
		err := l.atEach(ctx, s, places, func(s kv.Store, k int) error {
			return l.eachLacking(ctx, s, places[k], recs, holders[places[k]], func(i int) {
				wrong[i] = append(wrong[i], fmt.Sprintf("%s: %s holds the value but is not in its list", l.name(places[k]), recs[i].ID))
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return wrong, nil
}

// checkedAtOnce is the number of values, and of records per value, that a check looks up in one
// trip.
const checkedAtOnce = 100

// eachLacking calls f with the holders, indexes into recs, that are missing in the list at place.
func (l *lists) eachLacking(ctx context.Context, s kv.Store, place string, recs []*plug.Seen, holders []int, f func(i int)) error {
	now := l.host.DB().Now()
	for some := range slices.Chunk(holders, checkedAtOnce) {
		ids := kv.Texts(some, func(i int) string { return recs[i].ID })
		entries, err := l.logs.Find(ctx, s, place, ids...)
		if err != nil {
			return err
		}
		for k, i := range some {
			if !entries[k].Member(now) {
				f(i)
			}
		}
	}
	return nil
}

func (l *lists) atEach(ctx context.Context, s kv.Store, places []string, step func(kv.Store, int) error) error {
	return atEach(ctx, s, len(places), step, func(i int, err error) error {
		return fmt.Errorf("%s: %w", l.name(places[i]), err)
	})
}

// atEach runs step for each of n places, side by side, and returns the first error, wrapped by
// failure.
func atEach(ctx context.Context, s kv.Store, n int, step func(kv.Store, int) error, failure func(int, error) error) error {
	if n < 2 { // as for most records
		for i := range n {
			if err := step(s, i); err != nil {
				return failure(i, err)
			}
		}
		return nil
	}
	works := make([]func(kv.Store) error, n)
	for i := range works {
		works[i] = func(s kv.Store) error { return step(s, i) }
	}
	for i, err := range kv.Together(ctx, s, works...) {
		if err != nil {
			return failure(i, err)
		}
	}
	return nil
}
