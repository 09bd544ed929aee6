package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/bits"

	"github.com/ringtree/ringtree/index/internal/memberlog"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Lists is an index from a value to all the records that hold it: one [List] for
// each value. It keeps true that a live record is at every moment in the lists
// of its values, and that a reader gets no record that does not hold the value.
//
// A change appends the record to the lists of its new values before it commits,
// and takes it out of those of its old ones after that, so any number of writers
// get on without a conflict. What no record says any more is dropped on reading,
// since records are loaded and compared anyway.
type Lists[T any, K comparable, V any] struct {
	spec kvmodel.IndexSpec[T, V]
	ids  kvmodel.KeyOf[K]
	host plug.Host[T]
	logs *memberlog.Logs

	count *count // nil: nothing is counted
}

var listKey = kv.NewClass("l", 3) // model, index, value text

// A ListOption changes how lists are kept.
type ListOption func(*listOptions)

type listOptions struct {
	hot   uint8
	count func(*kvmodel.DB) *count // nil: nothing is counted
}

// Hot makes each list of at least that many segments from the start, so that
// those who write to one list at the same time seldom meet. It is rounded up to
// a power of two, and costs a page that many keys.
func Hot(segments int) ListOption {
	return func(o *listOptions) { o.hot = uint8(bits.Len(uint(max(segments, 1) - 1))) }
}

// NewLists returns the index spec describes and plugs it into records.
func NewLists[T any, K comparable, V any](records *kvmodel.Records[T, K], spec kvmodel.IndexSpec[T, V], opts ...ListOption) *Lists[T, K, V] {
	l := &Lists[T, K, V]{spec: spec, ids: records.IDs()}
	l.host = records.Plug(l)
	l.logs, l.count = newLogs(records.DB(), opts)
	l.logs.Key = func(place string) string {
		return listKey.KeyOfText([]string{l.host.Model(), spec.Name}, place)
	}
	l.logs.Rebuilds = l.host.Rebuilds
	return l
}

func newLogs(db *kvmodel.DB, opts []ListOption) (*memberlog.Logs, *count) {
	var o listOptions
	for _, opt := range opts {
		opt(&o)
	}
	logs := &memberlog.Logs{Hot: o.hot, Store: db.Store(), Now: db.Now, Soon: db.Soon, Limits: memberlog.DefaultLimits}
	if o.count == nil {
		return logs, nil
	}
	return logs, o.count(db)
}

// Of returns the list of the records that hold v.
func (l *Lists[T, K, V]) Of(v V) *List[T, K] {
	place := l.spec.Key.Text(v)
	return &List[T, K]{host: l.host, logs: l.logs, ids: l.ids, place: place, name: l.name(place)}
}

func (l *Lists[T, K, V]) name(place string) string {
	return fmt.Sprintf("%s.%s %q", l.host.Model(), l.spec.Name, place)
}

// Name returns the index's name.
func (l *Lists[T, K, V]) Name() string { return l.spec.Name }

// Def returns the index's definition.
func (l *Lists[T, K, V]) Def() string { return l.spec.Def }

// Places returns the texts of rec's values.
func (l *Lists[T, K, V]) Places(rec *T) []string { return l.spec.Places(rec) }

// underWay is what one step of a change leaves for the next: the entry, where it
// was put for each place that was gained, and whether the change was counted.
type underWay struct {
	entry   memberlog.Entry
	tickets []memberlog.Ticket
	counted counting
}

// Prepare enters the record into the lists of the values it is to hold.
func (l *Lists[T, K, V]) Prepare(ctx context.Context, s kv.Store, m *plug.Move) error {
	a := &underWay{entry: memberlog.Entry{ID: m.ID, Rev: m.Rev, In: true}, tickets: make([]memberlog.Ticket, len(m.Gained))}
	if m.TTL > 0 {
		a.entry.At = l.host.DB().Now().Add(m.TTL).Unix() + 1
	}
	m.Kept = a
	return l.atEach(ctx, s, m.Gained, func(s kv.Store, i int) (err error) {
		a.tickets[i], err = l.logs.Append(ctx, s, m.Gained[i], a.entry)
		return err
	})
}

// Beside makes sure that what was appended counts.
func (l *Lists[T, K, V]) Beside(ctx context.Context, s kv.Store, m *plug.Move) error {
	a, ok := m.Kept.(*underWay)
	if !ok {
		return nil // A deletion gains nothing.
	}
	if l.count != nil && m.Rev == m.Base {
		l.count.ask(m.Is) // It is a rebuild.
	}
	return l.atEach(ctx, s, m.Gained, func(s kv.Store, i int) error {
		return l.logs.Settle(ctx, s, m.Gained[i], a.entry, a.tickets[i])
	})
}

// After takes the record out of the lists of the values it held, and counts.
func (l *Lists[T, K, V]) After(ctx context.Context, s kv.Store, m *plug.Move) error {
	a, ok := m.Kept.(*underWay)
	if !ok {
		a = new(underWay)
		m.Kept = a
	}
	errs := kv.Together(ctx, s,
		func(s kv.Store) error {
			return l.atEach(ctx, s, m.Lost, func(s kv.Store, i int) error {
				return l.logs.Write(ctx, s, m.Lost[i], l.out(m.ID, m.Rev))
			})
		},
		func(s kv.Store) error { return l.moved(ctx, s, m, &a.counted) },
	)
	return cmp.Or(errs...) // The second may only have to wait.
}

func (l *Lists[T, K, V]) out(id string, rev uint64) memberlog.Entry {
	return memberlog.Entry{ID: id, Rev: rev, At: max(l.host.DB().Now().Unix(), 1)}
}

// Repair enters rec into the lists of its values among places and takes it out
// of the others.
func (l *Lists[T, K, V]) Repair(ctx context.Context, s kv.Store, rec *plug.Seen[T], places []string) error {
	if rec.Rev == 0 {
		return nil // Nothing was ever written.
	}
	err := l.atEach(ctx, s, places, func(s kv.Store, i int) error {
		e := l.out(rec.ID, rec.Rev)
		if rec.Holds(places[i]) {
			e.In, e.At = true, 0
			if at := rec.Expires(); !at.IsZero() {
				e.At = at.Unix() + 1
			}
		}
		return l.logs.Write(ctx, s, places[i], e)
	})
	if err != nil || rec.Doubt == plug.NoDoubt {
		return err
	}
	since := l.host.DB().Now().Add(-quietFor)
	if rec.Doubt == plug.Unsent {
		since = since.Add(-recentlyCounted)
	}
	return l.recount(ctx, s, places, since)
}

// Check reports the values of rec whose lists do not have it.
func (l *Lists[T, K, V]) Check(ctx context.Context, s kv.Store, rec *plug.Seen[T]) ([]string, error) {
	var wrong []string
	for _, place := range rec.Places {
		in, err := l.logs.Contains(ctx, s, place, rec.ID)
		if err != nil {
			return nil, err
		}
		if !in {
			wrong = append(wrong, fmt.Sprintf("%s: %s holds the value, but is not in its list", l.name(place), rec.ID))
		}
	}
	return wrong, nil
}

func (l *Lists[T, K, V]) atEach(ctx context.Context, s kv.Store, places []string, step func(kv.Store, int) error) error {
	return atEach(ctx, s, len(places), step, func(i int, err error) error {
		return fmt.Errorf("%s: %w", l.name(places[i]), err)
	})
}

// atEach runs step for each of n places side by side, and returns the first
// error as failure puts it.
func atEach(ctx context.Context, s kv.Store, n int, step func(kv.Store, int) error, failure func(int, error) error) error {
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

// List is the records that hold one value, in an order that stays as it is but
// means nothing.
type List[T any, K comparable] struct {
	host  plug.Host[T]
	logs  *memberlog.Logs
	ids   kvmodel.KeyOf[K]
	place string
	name  string
}

func (l *List[T, K]) failure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", l.name, err)
}

// Count returns how many records are in the list. It reads all of it, though not
// the records, so it is for short lists or seldom: a count=Model.Field tells a
// number for nothing. Records that a change under way, or one that a crash has
// left half done, is about to enter or has not yet taken out are counted.
func (l *List[T, K]) Count(ctx context.Context) (int, error) {
	if err := l.host.Ready(ctx); err != nil {
		return 0, err
	}
	n, err := l.logs.Count(ctx, l.host.Store(), l.place)
	return n, l.failure(err)
}

// Size returns about how many records are in the list, by counting a part of it:
// exactly up to some thousand, within a few percent above. One trip, two the
// first time.
func (l *List[T, K]) Size(ctx context.Context) (int, error) {
	if err := l.host.Ready(ctx); err != nil {
		return 0, err
	}
	n, err := l.logs.Size(ctx, l.host.Store(), l.place)
	return n, l.failure(err)
}

// Contains tells whether the record with id is in the list. It asks the record.
// One trip.
func (l *List[T, K]) Contains(ctx context.Context, id K) (bool, error) {
	recs, err := l.host.See(ctx, l.host.Store(), l.ids.Text(id))
	if err != nil {
		return false, l.failure(err)
	}
	return recs[0].Holds(l.place), nil
}

// IDs returns the ids of the records in the list, each once. They are not
// checked: some may be of records that have just left it. After an error it
// ends.
func (l *List[T, K]) IDs(ctx context.Context) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		err := l.eachTexts(ctx, func(texts []string) error {
			for _, text := range texts {
				id, err := l.ids.Parse(text)
				if err != nil {
					return err
				}
				if !yield(id, nil) {
					return errStop
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			var none K
			yield(none, l.failure(err))
		}
	}
}

var errStop = errors.New("stop")

// loadAtOnce is how many records All reads in one trip.
const loadAtOnce = 100

// All returns the records in the list, each once, 100 a trip. Records that enter
// or leave meanwhile may be among them or not. After an error it ends.
func (l *List[T, K]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		err := l.eachTexts(ctx, func(texts []string) error {
			for len(texts) > 0 {
				n := min(len(texts), loadAtOnce)
				recs, err := l.host.See(ctx, l.host.Store(), texts[:n]...)
				if err != nil {
					return err
				}
				for _, rec := range recs {
					if rec.Holds(l.place) && !yield(rec.Value, nil) {
						return errStop
					}
				}
				texts = texts[n:]
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(nil, l.failure(err))
		}
	}
}

// eachTexts calls f with the texts of the ids, some at a time.
func (l *List[T, K]) eachTexts(ctx context.Context, f func([]string) error) error {
	if err := l.host.Ready(ctx); err != nil {
		return err
	}
	var own error
	err := l.logs.Each(ctx, l.host.Store(), l.place, func(texts []string) bool {
		own = f(texts)
		return own == nil
	})
	if own != nil {
		return own
	}
	return err
}

// pending is how often, of so many times, a reader that meets an entry whose
// change has not committed makes that change fail: if its process has died, it
// would stay for ever, and if not, it should not be disturbed much.
const pending = 8

// meet repairs an entry that a reader has dropped.
func (l *List[T, K]) meet(m memberlog.Member, rec *plug.Seen[T]) {
	if m.Rev <= rec.Rev {
		l.host.Meet(rec.ID, l.place, 0)
	} else if oneIn(pending) {
		l.host.Meet(rec.ID, l.place, m.Rev)
	}
}
