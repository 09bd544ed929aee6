package timeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// DefaultKeep is the default of EventsSpec.Keep.
const DefaultKeep = 100

// MaxEvent is the maximum size of an encoded event.
const MaxEvent = 8 << 10

// EventsSpec describes events of type T whose owners have type V. kvgen writes it from a tag.
type EventsSpec[T, V any] struct {
	Name  string // Visit: part of the keys
	Key   kvmodel.KeyOf[V]
	By    func(*T) V
	Codec kvmodel.Codec[T]

	// Once returns the subject of an event, usually by Text. Only the newest event about a subject
	// counts. Nil: every event does.
	Once func(*T) string

	Keep   int // events kept for an owner; 0: DefaultKeep
	Layout Layout
	TTL    time.Duration // lifetime of an event; 0: forever
}

// Events keeps the last events of each owner, in constant space. Once Push has returned, an event
// is in Latest until Keep events about other subjects follow.
type Events[T, V any] struct {
	spec   EventsSpec[T, V]
	db     plug.DB
	layout layout
}

var eventKey = kv.NewClass("e", 2) // model, owner text

// NewEvents returns the events described by spec.
func NewEvents[T, V any](db *kvmodel.DB, spec EventsSpec[T, V]) *Events[T, V] {
	if spec.Keep < 0 || spec.TTL < 0 || spec.TTL > kv.MaxTTL/2 {
		panic(fmt.Sprintf("timeline: events of %s: keep %d for %v", spec.Name, spec.Keep, spec.TTL))
	}
	spec.Keep = cmp.Or(spec.Keep, DefaultKeep)
	e := &Events[T, V]{spec: spec, db: db.Named(spec.Name, "")}
	e.layout = e.layoutAt(func(owner string) string { return eventKey.KeyOfText([]string{spec.Name}, owner) })
	db.Plug(eventsWindow[T, V]{e})
	return e
}

func (e *Events[T, V]) layoutAt(base func(owner string) string) layout {
	shared := common{db: e.db, base: base, keep: e.spec.Keep, ttl: e.spec.TTL, what: e.subject}
	switch e.spec.Layout {
	case Numbered:
		keep := int64(e.spec.Keep)
		p := newProcess(e.db)
		p.sparing = true
		return &numbered{shared, p, shape{keep, keep, 1, keep + 1}}
	case Packed:
		return &packed{shared}
	}
	return &appended{shared}
}

// ModelName returns the name of the events.
func (e *Events[T, V]) ModelName() string { return e.spec.Name }

// Rebuild does nothing: events are stored nowhere else.
func (e *Events[T, V]) Rebuild(context.Context) error { return e.failure(e.db.Writable()) }

const pushedAtOnce = 500 // owners in a trip

// Push adds each event to its owner's, in order. It takes one trip for up to 500 owners, and one
// more for an owner's first event. The error joins an *ItemError for every event that was not added
// or may not have been.
func (e *Events[T, V]) Push(ctx context.Context, events ...T) error {
	ctx, end := e.db.Begin(ctx, "Push")
	defer end()
	if err := e.db.Writable(); err != nil {
		return e.failure(err)
	}
	batches, errs := e.sort(events)
	for some := range slices.Chunk(batches, pushedAtOnce) {
		errs = append(errs, e.pushBatch(ctx, some)...)
	}
	return kv.Join(errs...)
}

type batch struct {
	owner   string
	entries []entry
	indexes []int // in the arguments of Push
}

func (e *Events[T, V]) sort(events []T) (batches []*batch, errs []error) {
	byOwner := make(map[string]*batch)
	now := e.db.Now().UnixMilli()
	for i := range events {
		owner := e.spec.By(&events[i])
		en, err := e.encode(&events[i], now)
		if e.spec.Key.Empty(owner) {
			err = fmt.Errorf("%w: the event has no owner", kvmodel.ErrInvalid)
		}
		if err != nil {
			errs = append(errs, &kvmodel.ItemError{Index: i, Err: e.failure(err)})
			continue
		}
		text := e.spec.Key.Text(owner)
		b := byOwner[text]
		if b == nil {
			b = &batch{owner: text}
			byOwner[text] = b
			batches = append(batches, b)
		}
		b.entries, b.indexes = append(b.entries, en), append(b.indexes, i)
	}
	return batches, errs
}

// The stamp only distinguishes equal events of one millisecond.
func (e *Events[T, V]) encode(ev *T, now int64) (entry, error) {
	body, err := e.spec.Codec.Append(nil, ev)
	if err == nil && len(body) > MaxEvent {
		err = fmt.Errorf("%w: an event of %d bytes; at most %d", kv.ErrTooLarge, len(body), MaxEvent)
	}
	return entry{int64(1 + kv.Random()%(1<<14-1)), now, body}, err
}

func (e *Events[T, V]) pushBatch(ctx context.Context, batches []*batch) (errs []error) {
	ctx, cancel := e.db.Patient(ctx)
	defer cancel()
	results := kv.Each(ctx, e.db.Store(), batches, func(s kv.Store, _ int, b *batch) error {
		return e.layout.push(ctx, s, b.owner, b.entries)
	})
	for i, err := range results {
		if err == nil {
			continue
		}
		for _, at := range batches[i].indexes {
			errs = append(errs, &kvmodel.ItemError{Index: at, Err: e.failure(err)})
		}
	}
	return errs
}

// Latest returns up to n last events of owner, newest first. If some are damaged, it returns the
// others and an ErrCorrupt, until newer ones replace them. One trip.
func (e *Events[T, V]) Latest(ctx context.Context, owner V, n int) ([]T, error) {
	ctx, end := e.db.Begin(ctx, "Latest")
	defer end()
	if n < 1 {
		return nil, e.failure(fmt.Errorf("%w: the latest %d; want 1 or more", kvmodel.ErrInvalid, n))
	}
	entries, damage := e.entries(ctx, owner, min(n, e.spec.Keep))
	if damage != nil && !wire.IsCorrupt(damage) {
		return nil, damage
	}
	events := make([]T, len(entries))
	for i, en := range entries {
		if _, err := e.spec.Codec.Unmarshal(en.body, &events[i]); err != nil {
			return nil, e.failure(err)
		}
	}
	return events, damage
}

// Unread returns the number of owner's events after a time, at most Keep. One trip.
func (e *Events[T, V]) Unread(ctx context.Context, owner V, since time.Time) (int, error) {
	ctx, end := e.db.Begin(ctx, "Unread")
	defer end()
	entries, damage := e.entries(ctx, owner, e.spec.Keep)
	if damage != nil && !wire.IsCorrupt(damage) {
		return 0, damage
	}
	unread := 0
	for _, en := range entries {
		if en.at > since.UnixMilli() {
			unread++
		}
	}
	return unread, damage
}

func (e *Events[T, V]) entries(ctx context.Context, owner V, n int) ([]entry, error) {
	all, damage := e.layout.latest(ctx, e.db.Store(), e.spec.Key.Text(owner), n)
	if damage != nil && !wire.IsCorrupt(damage) {
		return nil, e.failure(damage)
	}
	all = withoutLost(all)
	if e.spec.TTL > 0 {
		oldest := e.db.Now().Add(-e.spec.TTL).UnixMilli()
		all = slices.DeleteFunc(all, func(en entry) bool { return en.at < oldest })
	}
	return distinct(all, n, e.subject), e.failure(damage)
}

// Clear removes all events of owner. One trip.
func (e *Events[T, V]) Clear(ctx context.Context, owner V) error {
	ctx, end := e.db.Begin(ctx, "Clear")
	defer end()
	if err := e.db.Writable(); err != nil {
		return e.failure(err)
	}
	keys := e.layout.keys(e.spec.Key.Text(owner))
	ops := make([]kv.Op, len(keys))
	for i, key := range keys {
		ops[i] = kv.OpDelete(key)
	}
	return e.failure(e.db.Store().Do(ctx, ops))
}

func (e *Events[T, V]) subject(en entry) string {
	if e.spec.Once == nil {
		return string(en.encode(nil))
	}
	var ev T
	if _, err := e.spec.Codec.Unmarshal(en.body, &ev); err != nil {
		return string(en.encode(nil))
	}
	return e.spec.Once(&ev)
}

func (e *Events[T, V]) failure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", e.spec.Name, err)
}

type eventsWindow[T, V any] struct{ *Events[T, V] }

func (w eventsWindow[T, V]) Name() string { return w.spec.Name }

func (w eventsWindow[T, V]) Kind() string { return "events" }

func (w eventsWindow[T, V]) Parted() bool { return true }

func (w eventsWindow[T, V]) Bases(place string) []string {
	return []string{eventKey.KeyOfText([]string{w.spec.Name}, place)}
}

func (w eventsWindow[T, V]) Base(key string) (base string, first bool) {
	base, rest, ok := plug.BaseAt(key, eventKey.Family(w.spec.Name).Key(""))
	return base, ok && (rest == "n" || strings.HasPrefix(rest, "a") || rest == "p")
}

// Audit cannot detect missing events.
func (w eventsWindow[T, V]) Audit(ctx context.Context, s kv.Store, base, _ string) ([]plug.Wrong, error) {
	_, err := w.layoutAt(func(base string) string { return base }).latest(ctx, s, base, w.spec.Keep)
	if wire.IsCorrupt(err) {
		return []plug.Wrong{{Kind: plug.DamagedItem, Text: err.Error()}}, nil
	}
	return nil, err
}

// Amend does nothing: newer events replace damaged ones.
func (w eventsWindow[T, V]) Amend(context.Context, kv.Store, string, string) error { return nil }

func (w eventsWindow[T, V]) Page(ctx context.Context, s kv.Store, value string, n int) (rows []plug.Row, err error) {
	entries, err := w.layout.latest(ctx, s, value, n)
	if err != nil && !wire.IsCorrupt(err) {
		return nil, err
	}
	for _, e := range distinct(withoutLost(entries), n, w.subject) {
		rows = append(rows, plug.Row{Note: shownTime(e.at), Data: e.body})
	}
	return rows, err
}

func (w eventsWindow[T, V]) Ends(key string) time.Time {
	if w.spec.TTL == 0 {
		return time.Time{}
	}
	_, turn, _ := strings.Cut(key, "#a")
	n, err := strconv.ParseInt(turn, 10, 64)
	if err != nil {
		return w.db.Now().Add(w.spec.TTL)
	}
	return time.Unix(0, (n+2)*int64(w.spec.TTL))
}

func (w eventsWindow[T, V]) Said(key string, value []byte) (texts []string, bodies [][]byte) {
	return nil, bodiesOf(key, value)
}

func (w eventsWindow[T, V]) Show(key string, value []byte) ([]string, error) {
	if strings.HasSuffix(key, "#n") {
		return []string{"the last stamp that was given: " + string(value)}, nil
	}
	return showEntries(key, value, func(e entry) string { return fmt.Sprintf("%d bytes", len(e.body)) })
}
