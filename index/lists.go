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
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Lists is an index from a value to all records that hold it: one [List] for each value. A live
// record is in the lists of its values at every moment, and readers never get a record without the
// value.
//
// A change appends the record to the lists of its new values before it commits, and removes it from
// those of its old values afterwards, so any number of writers can work without conflicts.
type Lists[T any, K comparable, V any] struct {
	spec kvmodel.IndexSpec[T, V]
	ids  kvmodel.KeyOf[K]
	all  *lists
}

type lists struct {
	index, def string
	places     func(plug.Record) []string
	limit      func(plug.Record) error // nil: none
	host       plug.Host
	logs       *memberlog.Logs

	ahead   ahead.Memory // of first pages
	figures []figure     // that follow
	total   []string     // of a Total, of which only the numbers are read
	met     plug.Places  // by an unfinished rebuild
}

var (
	_ plug.Bulk     = (*lists)(nil)
	_ plug.Listing  = (*lists)(nil)
	_ plug.Meeter   = (*lists)(nil)
	_ plug.Finisher = (*lists)(nil)
)

var listKey = kv.NewClass("l", 3) // model, index, value text

// ListOption configures lists.
type ListOption func(*listOptions)

type listOptions struct {
	hot     uint8
	figures []func(db *kvmodel.DB, model, list string) figure
	parts   int      // of a note
	total   []string // as in lists
}

// Hot divides each list from the start into at least that many segments, rounded up to a power of
// two, so that concurrent writers rarely collide. A page reads that many keys.
func Hot(segments int) ListOption {
	return func(o *listOptions) { o.hot = uint8(bits.Len(uint(max(segments, 1) - 1))) }
}

// NewLists returns the index described by spec, as an index of records.
func NewLists[T any, K comparable, V any](records *kvmodel.Records[T, K], spec kvmodel.IndexSpec[T, V], opts ...ListOption) *Lists[T, K, V] {
	o := optionsOf(opts)
	l := &lists{index: spec.Name, def: spec.Def, places: plug.Untyped(spec.Places), limit: plug.Untyped(spec.Limit), total: o.total}
	l.join(records, records.DB(), o)
	return &Lists[T, K, V]{spec, records.IDs(), l}
}

func (l *lists) join(r plug.Model, db *kvmodel.DB, o listOptions) {
	for _, figure := range o.figures {
		l.figures = append(l.figures, figure(db, r.ModelName(), l.index))
	}
	r.Plug(l, func(host plug.Host) {
		if l.total != nil && host.Ends() {
			panic("index: the records of " + host.Model() + " cannot be counted: they expire")
		}
		l.host = host
		l.logs = newLogs(host.DB(), o)
		keys := listKey.Family(host.Model(), l.index)
		l.logs.Key = func(place string) string { return keys.Key(plug.Bare(place)) }
		l.logs.Rebuilds, l.logs.Confirm, l.logs.Overdue = host.Rebuilds, l.confirm, l.reconsider
		for i := range l.figures {
			l.figures[i].Over(counted{l, i})
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
	return &memberlog.Logs{Hot: o.hot, Store: db.Store(), Now: db.Now, Soon: db.Soon, Limits: memberlog.LimitsOn(db.Store())}
}

// Spec returns the description of the lists.
func (l *Lists[T, K, V]) Spec() kvmodel.IndexSpec[T, V] { return l.spec }

// Derived returns a count of all records in the lists, nil if none follows them.
func (l *Lists[T, K, V]) Derived() *tally.Derived {
	for _, f := range l.all.figures {
		if f.of == nil {
			return f.Derived
		}
	}
	return nil
}

// Of returns the list of the records that hold v.
func (l *Lists[T, K, V]) Of(v V) *List[T, K] {
	return &List[T, K]{l.all.at(l.spec.Key.Text(v)), l.ids}
}

func (l *lists) at(place string) list {
	return list{l.host, &l.ahead, l.logs, l.host.Store(), place, l.name(place)}
}

func (l *lists) name(place string) string {
	return fmt.Sprintf("%s.%s %q", l.host.Model(), l.index, place)
}

func (l *lists) Name() string { return l.index }

// Def includes the numbers that follow the lists.
func (l *lists) Def() string {
	def := l.def
	for _, f := range l.figures {
		def += f.def
	}
	return def
}

func (l *lists) Places(v plug.Record) []string {
	places := l.places(v)
	if note := l.note(v); note != "" {
		places = kv.Texts(places, func(place string) string { return plug.Noted(place, note) })
	}
	return places
}

func (l *lists) Limit(rec plug.Record) error {
	for _, f := range l.figures {
		if err := f.check(rec); err != nil {
			return fmt.Errorf("%s.%s: %w", l.host.Model(), l.index, err)
		}
	}
	if l.limit == nil {
		return nil
	}
	return l.limit(rec)
}

type underWay struct {
	entry    memberlog.Entry
	gained   []string // without notes
	tickets  []memberlog.Ticket
	told     bool
	followed bool
}

// EnterAll keeps one entered in all its moves.
type entered struct {
	began map[string]bool // places of lists that it began
}

func underWayOf(m *plug.Move) *underWay {
	a, ok := m.Kept.(*underWay)
	if !ok { // a deletion gains nothing
		a = new(underWay)
		m.Kept = a
	}
	return a
}

func (l *lists) Prepare(ctx context.Context, s kv.Store, m *plug.Move) error {
	gained := plug.Bares(m.Gained)
	a := &underWay{entry: in(m.ID, m.Rev, m.Ends, m.Is), gained: gained, tickets: make([]memberlog.Ticket, len(gained))}
	m.Kept = a
	if m.Rebuilds() { // it may make up for the loss of a head
		for _, place := range gained {
			l.logs.Forget(place)
		}
	}
	return l.atEach(ctx, s, gained, func(s kv.Store, i int) (err error) {
		enter := func(s kv.Store) (err error) {
			a.tickets[i], err = l.logs.Append(ctx, kv.Chained(s, m.Chain), gained[i], a.entry)
			return err
		}
		if !l.countsBeside(m) {
			return enter(s)
		}
		made := false
		begin := func(s kv.Store) error { made = l.begin(ctx, s, gained[i], a.entry.Note.String()); return nil }
		if err := kv.Together(ctx, s, enter, begin)[0]; err != nil {
			return err
		}
		if made && !a.tickets[i].Began() {
			// the list has members that the new number does not count
			m.Added.Doubt = append(m.Added.Doubt, gained[i])
		}
		return nil
	})
}

// EnterAll adds the records to the lists of their values. In a transaction After does the counting.
func (l *lists) EnterAll(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	kept := &entered{make(map[string]bool)}
	var all []memberlog.Placed
	for _, m := range moves {
		m.Kept = kept
		e := in(m.ID, m.Rev, m.Ends, m.Is)
		for _, place := range m.Gained {
			all = append(all, memberlog.Placed{Place: plug.Bare(place), Entry: e})
		}
	}
	began, err := l.logs.Enter(ctx, s, all)
	for _, place := range began {
		kept.began[place] = true
	}
	if err != nil {
		return fmt.Errorf("%s.%s: %w", l.host.Model(), l.index, err)
	}
	return nil
}

// Chains reports whether an accepted append counts: then the store refuses those to segments that
// were replaced. If the head of the list was lost, Prepare appends once more.
func (l *lists) Chains(*plug.Move) bool { return kv.PowersOf(l.host.Store()).Unless }

func (l *lists) Beside(ctx context.Context, s kv.Store, m *plug.Move) error {
	if !l.countsBeside(m) {
		return l.stand(ctx, s, m)
	}
	return kv.Together(ctx, s,
		func(s kv.Store) error { return l.stand(ctx, s, m) },
		func(s kv.Store) error { l.add(ctx, kv.Chained(s, m.Chain), m.Added, l.shares(m)); return nil },
	)[0]
}

func (l *lists) stand(ctx context.Context, s kv.Store, m *plug.Move) error {
	if m.Chain != 0 {
		return nil // the store refuses an append after a seal
	}
	a := underWayOf(m)
	return l.atEach(ctx, s, a.gained, func(s kv.Store, i int) error {
		return l.logs.Settle(ctx, s, a.gained[i], a.entry, &a.tickets[i])
	})
}

func (l *lists) Committed(m *plug.Move) {
	a := underWayOf(m)
	for i, place := range a.gained {
		if !a.tickets[i].Settled() {
			l.logs.Expect(place, a.entry)
		}
	}
	for _, place := range l.moved(m) {
		l.logs.Expect(place, l.entryOf(m, place))
	}
	if l.countsBeside(m) {
		l.doubt(m.Added.Doubt)
	}
}

// After updates the followers of the counts once for all moves.
func (l *lists) After(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	var works []func(kv.Store) error
	for _, m := range moves {
		if places := l.moved(m); len(places) > 0 || l.countsBeside(m) {
			works = append(works, func(s kv.Store) error { return l.follow(ctx, s, m, places) })
		}
	}
	err := cmp.Or(kv.Together(ctx, s, works...)...)
	switch {
	case err != nil || len(l.figures) == 0:
		return err
	case l.isAtomic():
		return l.count(ctx, s, moves)
	}
	err = l.followed(ctx, s, moves)
	for _, m := range moves {
		err = cmp.Or(err, l.awaitRecount(m))
	}
	return err
}

func (l *lists) follow(ctx context.Context, s kv.Store, m *plug.Move, moved []string) error {
	write := func(s kv.Store) error { return l.leave(ctx, s, m, moved) }
	if !l.countsBeside(m) {
		return write(s)
	}
	works := []func(kv.Store) error{write}
	if a := underWayOf(m); !a.told {
		a.told = true
		works = append(works, func(s kv.Store) error { l.tell(ctx, s, m); return nil })
	}
	return kv.Together(ctx, s, works...)[0]
}

func (l *lists) leave(ctx context.Context, s kv.Store, m *plug.Move, places []string) error {
	return l.atEach(ctx, s, places, func(s kv.Store, i int) error {
		return l.put(ctx, s, places[i], l.entryOf(m, places[i]))
	})
}

// moved returns the lists whose entries change after the commit. Where only the note changes,
// Prepare has written the entry.
func (l *lists) moved(m *plug.Move) []string {
	places := slices.Concat(m.Lost, m.Renewed)
	if !plug.HasNotes(places) {
		return places
	}
	return plug.Without(plug.Bares(places), plug.Bares(m.Gained))
}

func (l *lists) entryOf(m *plug.Move, place string) memberlog.Entry {
	if _, stays := plug.At(m.Is, place); stays {
		return in(m.ID, m.Rev, m.Ends, m.Is)
	}
	return l.out(m.ID, m.Rev)
}

func (l *lists) put(ctx context.Context, s kv.Store, place string, e memberlog.Entry) error {
	err := l.logs.Write(ctx, s, place, e)
	if err == nil {
		l.logs.Written(place, e)
	}
	return err
}

func in(id string, rev uint64, ends time.Time, places []string) memberlog.Entry {
	e := memberlog.Entry{ID: id, Rev: rev, In: true, Note: noteAt(places)}
	if !ends.IsZero() {
		e.At = ends.Unix() + 1
	}
	return e
}

func (l *lists) out(id string, rev uint64) memberlog.Entry {
	return memberlog.Entry{ID: id, Rev: rev, At: max(l.host.DB().Now().Unix(), 1)}
}

func (l *lists) Repair(ctx context.Context, s kv.Store, rec *plug.Seen, places []string) error {
	places = plug.Bares(places)
	if rec.Rev == 0 { // nothing was ever written, or it was lost
		for _, place := range places {
			l.logs.Written(place, l.out(rec.ID, math.MaxUint64))
		}
		return nil
	}
	err := l.atEach(ctx, s, places, func(s kv.Store, i int) error {
		e := l.out(rec.ID, rec.Rev)
		if rec.Holds(places[i]) {
			e = in(rec.ID, rec.Rev, rec.Expires(), rec.Places)
		}
		return l.put(ctx, s, places[i], e)
	})
	if err == nil && rec.Doubt {
		l.doubt(places)
	}
	return err
}

func (l *lists) Purge(ctx context.Context, s kv.Store, gone plug.Gone, _ func() error) error {
	return l.Erase(ctx, s, []plug.Gone{gone})[0]
}

// Erase also removes the numbers of lists that become empty. It writes each list once: records that
// leave one together would otherwise get in each other's way.
func (l *lists) Erase(ctx context.Context, s kv.Store, all []plug.Gone) []error {
	revs := make(map[string]map[string]uint64) // by place and id
	for _, gone := range all {
		for _, place := range plug.Bares(gone.Places) {
			if revs[place] == nil {
				revs[place] = make(map[string]uint64)
			}
			revs[place][gone.ID] = gone.Rev
		}
	}
	places := slices.Collect(maps.Keys(revs))
	failed := make(map[string]error)
	for i, err := range kv.Each(ctx, s, places, func(s kv.Store, _ int, place string) error {
		empty, err := l.logs.EraseMany(ctx, s, place, revs[place])
		return l.end(ctx, s, place, empty, err)
	}) {
		if err != nil {
			failed[places[i]] = fmt.Errorf("%s: %w", l.name(places[i]), err)
		}
	}
	errs := make([]error, len(all))
	for i, gone := range all {
		for _, place := range plug.Bares(gone.Places) {
			errs[i] = cmp.Or(errs[i], failed[place])
		}
	}
	return errs
}

func (l *lists) end(ctx context.Context, s kv.Store, place string, gone bool, err error) error {
	if err != nil || !gone {
		return err
	}
	return l.eachFigure(ctx, s, func(s kv.Store, f *figure) error { return f.End(ctx, s, place) })
}

func (l *lists) Each(ctx context.Context, s kv.Store, place string, f func(id string) error) error {
	if err := l.host.Ready(ctx); err != nil {
		return err
	}
	at := l.at(place)
	at.store = s
	return at.failure(at.eachText(ctx, f))
}

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

const checkedAtOnce = 100

func (l *lists) eachLacking(ctx context.Context, s kv.Store, place string, recs []*plug.Seen, holders []int, f func(i int)) error {
	now := l.host.DB().Now()
	for some := range slices.Chunk(holders, checkedAtOnce) {
		ids := kv.Texts(some, func(i int) string { return recs[i].ID })
		entries, err := l.logs.Find(ctx, s, plug.Bare(place), ids...)
		if err != nil {
			return err
		}
		for k, i := range some {
			if !entries[k].Member(now) || entries[k].Note.String() != plug.NoteOf(place) {
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

// atEach runs step for each of n places, concurrently, and returns the first error, wrapped by
// failure.
func atEach(ctx context.Context, s kv.Store, n int, step func(kv.Store, int) error, failure func(int, error) error) error {
	if n < 2 {
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
