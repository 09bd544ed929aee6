package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/ringtree/ringtree/bench/figures/models"
	"github.com/ringtree/ringtree/bench/internal/stores"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var recordFigures = []func(*bench) error{
	generated,
	recordCodec,
	recordTrips,
	touches,
	recordCommits,
	journalAppends,
	manyUpdates,
	manyCreators,
	recovery,
}

//go:embed models/shelf_kv.go
var shelfText string

// generated measures what kvgen has written for a model with five indexes.
func generated(b *bench) error {
	_, wiring, _ := strings.Cut(shelfText, "// Shelves holds")
	wiring, _, _ = strings.Cut(wiring, "// These lines stop compiling")
	b.report("kvgen: lines that wire a model with five indexes", float64(strings.Count(strings.TrimSpace(wiring), "\n")+1), atMost(60))

	out, err := b.goCommand("tool", "-C", "bench", "kvgen", "-check", "./figures/models")
	b.report("kvgen: files that a second run changes", float64(strings.Count(string(out), "\n")), exactly(0))
	return err
}

// reflected is a Page without methods: msgpack takes it by reflection.
type reflected models.Page

func newPage() *models.Page {
	return &models.Page{
		ID:        "01ja8z5m3q7w9x2c4v6b8n0kdr",
		Slug:      "a-page-about-rings-and-trees",
		Title:     "A page about rings and trees",
		Body:      strings.Repeat("All work and no play. ", 36),
		Author:    "01ja8z5m3q7w9x2c4v6b8n0aaa",
		Category:  "structures",
		Tags:      []string{"go", "trees", "rings"},
		CreatedAt: time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC),
		UpdatedAt: time.Date(2026, 3, 2, 12, 0, 0, 987654321, time.UTC),
		Views:     123456,
	}
}

// recordCodec compares the generated codec with msgpack by reflection.
func recordCodec(b *bench) error {
	page, buf := newPage(), make([]byte, 0, 4096)
	data, err := models.PageCodec().Marshal(page)
	if err != nil {
		return err
	}
	b.report("codec: bytes of the record", float64(len(data)), atMost(1200))
	encode := func() error { _, err := models.PageCodec().Append(buf[:0], page); return err }
	decode := func() error { _, err := models.PageCodec().Unmarshal(data, new(models.Page)); return err }
	for _, c := range []struct {
		name          string
		ours, theirs  func() error
		allocs, nanos float64
		times         float64
	}{
		{"encode", encode, func() error { _, err := msgpack.Marshal((*reflected)(page)); return err }, 0, 350, 8},
		{"decode", decode, func() error { return msgpack.Unmarshal(data, new(reflected)) }, 8, 1300, 1.7},
	} {
		n, err := allocs(c.ours)
		if err != nil {
			return err
		}
		b.report("codec: allocations to "+c.name, n, atMost(c.allocs))
		took, err := duration(repeated(c.ours))
		if err != nil {
			return err
		}
		b.report("codec: time to "+c.name, float64(took.Nanoseconds())/timed, atMost(c.nanos).in("ns"))
		if err := b.faster("codec: "+c.name+", times as fast as reflection", atLeast(c.times), repeated(c.ours), repeated(c.theirs)); err != nil {
			return err
		}
	}
	return nil
}

// plain is a store that can do no more than one key at a time.
type plain struct{ kvmodel.Store }

func (p plain) Powers() kv.Powers {
	powers := kv.PowersOf(p.Store)
	powers.Atomic = nil
	return powers
}

// openModels returns the models in s, as a process of its own would see them.
func openModels(s kvmodel.Store, opts ...kvmodel.Option) (*kvmodel.DB, *models.Models, error) {
	db, err := open(s, opts...)
	if err != nil {
		return nil, nil, err
	}
	return db, models.New(db), nil
}

// recordTrips counts the trips before the reply, on a plain store.
func recordTrips(b *bench) error {
	db, m, err := openModels(plain{memkv.New(memkv.Options{})})
	if err != nil {
		return err
	}
	defer db.Close(b.ctx)
	// The first change of a process opens its journal.
	first := m.Pages.Create(b.ctx, &models.Page{ID: "first"})
	if err := errors.Join(first, m.Votes.Create(b.ctx, &models.Vote{User: "first", Page: "first"})); err != nil {
		return err
	}
	page := newPage()
	update := func(change func(*models.Page)) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := m.Pages.Update(ctx, page.ID, func(p *models.Page) error { change(p); return nil })
			return err
		}
	}
	edit := update(func(p *models.Page) { p.Views++ })
	move := update(func(p *models.Page) { p.Slug += "-" })
	get := func(ctx context.Context) error { _, err := m.Pages.Get(ctx, page.ID); return err }
	find := func(ctx context.Context) error { _, err := m.Pages.BySlug.Find(ctx, page.Slug); return err }
	vote := func(ctx context.Context) error { return m.Votes.Create(ctx, &models.Vote{User: "ann", Page: "home"}) }
	for _, step := range []struct {
		name  string
		trips float64
		work  func(context.Context) error
	}{
		{"Create with one unique value", 2, func(ctx context.Context) error { return m.Pages.Create(ctx, page) }},
		{"Find by a unique value", 2, find},
		{"Find by a remembered value", 1, find},
		{"Get", 1, get},
		{"Update, the record read a moment ago", 1, edit},
		{"Update without an index change", 2, edit},
		{"Update of a unique value", 3, move},
		{"GetMulti of 100", 1, func(ctx context.Context) error { _, err := m.Pages.GetMulti(ctx, make([]string, 100)); return err }},
		{"Load for 100 records", 1, func(ctx context.Context) error {
			_, err := kvmodel.Load(ctx, m.Pages.Records, make([]int, 100), func(int) string { return page.ID })
			return err
		}},
		{"Create of an edge", 2, vote},
		{"Create of an edge that exists", 1, func(ctx context.Context) error {
			if err := vote(ctx); !errors.Is(err, kvmodel.ErrExists) {
				return fmt.Errorf("voted twice: %v", err)
			}
			return nil
		}},
		{"Get and then Delete", 2, func(ctx context.Context) error { return errors.Join(get(ctx), m.Pages.Delete(ctx, page.ID)) }},
		{"Delete", 2, func(ctx context.Context) error { return m.Pages.Delete(ctx, "first") }},
	} {
		cost, err := b.cost(step.work)
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		b.report("trips: "+step.name, float64(cost.Trips), exactly(step.trips))
		if err := db.Flush(b.ctx); err != nil {
			return err
		}
	}
	return nil
}

// touches reports what it takes to make a record live longer that has a unique value, is in a
// list and on two boards, on a store as a Redis server is and on one as memcached.
func touches(b *bench) error {
	for _, on := range []struct {
		name           string
		has            kv.Powers
		first, foreign float64
	}{
		{"as Redis", kv.Powers{Unless: true, Ordered: true}, 1, 2},
		{"as memcached", kv.Powers{}, 2, 3},
	} {
		var ops atomic.Int64
		counted := kvmodel.Trace(memkv.New(memkv.Options{}), func(_ context.Context, trip kvmodel.Trip) { ops.Add(int64(len(trip.Ops))) })
		l, err := whole.Open(stores.With{Outliving: stores.Outliving{Store: counted}, Has: on.has})
		if err != nil {
			return err
		}
		o := &whole.Offer{ID: "f1", Code: "c", Kind: "sale", Price: 5, Until: l.DB.Now().Add(time.Hour)}
		if err := errors.Join(l.Offers.Create(b.ctx, o), l.DB.Flush(b.ctx)); err != nil {
			return err
		}
		for _, read := range []bool{true, false} {
			what, trips, before := "Touch of a record read a moment ago, "+on.name, on.first, 2.0 // the line and the record
			if !read {
				what, trips, before = "Touch of another, "+on.name, on.foreign, 3
			} else if _, err := l.Offers.Get(b.ctx, o.ID); err != nil {
				return err
			}
			ops.Store(0)
			o.Until = o.Until.Add(time.Hour)
			cost, err := b.cost(func(ctx context.Context) error { return l.Offers.Touch(ctx, o.ID, o.Until) })
			if err := errors.Join(err, l.DB.Flush(b.ctx)); err != nil {
				return err
			}
			b.report("trips: "+what, float64(cost.Trips), exactly(trips))
			b.report("  operations before the reply", float64(cost.Ops), exactly(before))
			b.report("  operations in all, with its four entries", float64(ops.Load()), atMost(20))
		}
		if err := l.DB.Close(b.ctx); err != nil {
			return err
		}
	}
	return nil
}

// recordCommits counts the commits of the embedded store, for changes that are
// made one after another.
func recordCommits(b *bench) error {
	store, err := boltkv.Open(filepath.Join(b.dir, "records.db"), boltkv.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	db, m, err := openModels(store)
	if err != nil {
		return err
	}
	defer db.Close(b.ctx)
	if err := m.Pages.Create(b.ctx, &models.Page{ID: "first"}); err != nil {
		return err
	}
	before, n := store.Stats().Commits, b.size(50)
	for i := range n {
		page := newPage()
		page.ID, page.Slug = fmt.Sprint(i), fmt.Sprint("page-", i)
		created := m.Pages.Create(b.ctx, page)
		_, moved := m.Pages.Update(b.ctx, page.ID, func(p *models.Page) error { p.Slug += "-"; return nil })
		if err := errors.Join(created, moved, m.Pages.Delete(b.ctx, page.ID)); err != nil {
			return err
		}
	}
	if err := db.Flush(b.ctx); err != nil {
		return err
	}
	b.report("boltkv: commits for a change with its indexes", float64(store.Stats().Commits-before)/float64(3*n), exactly(1))
	return nil
}

// journalAppends counts what changes that move an index entry write into the
// journal.
func journalAppends(b *bench) error {
	var appends, size atomic.Int64
	watched := kvmodel.Trace(memkv.New(memkv.Options{}), func(_ context.Context, trip kvmodel.Trip) {
		for _, op := range trip.Ops {
			if op.Kind.Writes() && strings.HasPrefix(op.Key, "line:") && len(op.Value) > 0 {
				appends.Add(1)
				size.Add(int64(len(op.Value)))
			}
		}
	})
	db, m, err := openModels(plain{watched})
	if err != nil {
		return err
	}
	defer db.Close(b.ctx)
	page := newPage()
	page.Slug = "rings-and-trees-home"
	if err := m.Pages.Create(b.ctx, page); err != nil {
		return err
	}
	appends.Store(0)
	size.Store(0)
	const n = 100
	for i := range n {
		_, err := m.Pages.Update(b.ctx, page.ID, func(p *models.Page) error {
			p.Slug = fmt.Sprintf("rings-and-trees-%04d", i)
			return nil
		})
		if err != nil {
			return err
		}
	}
	b.report("journal: appends for a change that moves an entry", float64(appends.Load())/n, atMost(1.1).varying())
	b.report("journal: bytes of it, with values of 20 bytes", float64(size.Load())/n, atMost(100))
	return nil
}

const (
	writers   = 64
	processes = 4 // that the writers are spread over
)

// contended opens the models in one store as several processes would, and
// counts the changes that lost a race.
func (b *bench) contended() (ms []*models.Models, lost *atomic.Int64, done func() error, err error) {
	store, lost := counting(memkv.New(memkv.Options{}), func(op kv.Op) bool {
		return strings.HasPrefix(op.Key, "r:") && errors.Is(op.Result.Err, kvmodel.ErrConflict)
	})
	var dbs []*kvmodel.DB
	for range processes {
		db, m, err := openModels(plain{store})
		if err != nil {
			return nil, nil, nil, err
		}
		dbs, ms = append(dbs, db), append(ms, m)
	}
	return ms, lost, func() error {
		var errs []error
		for _, end := range []func(*kvmodel.DB, context.Context) error{(*kvmodel.DB).Flush, (*kvmodel.DB).Close} {
			for _, db := range dbs {
				errs = append(errs, end(db, b.ctx))
			}
		}
		return errors.Join(errs...)
	}, nil
}

// manyUpdates lets many writers change one record, and looks for lost changes.
func manyUpdates(b *bench) error {
	ms, lost, done, err := b.contended()
	if err != nil {
		return err
	}
	page := newPage()
	page.Views = 0
	if err := ms[0].Pages.Create(b.ctx, page); err != nil {
		return err
	}
	var gaveUp atomic.Int64
	n := writers * b.size(1000)
	err = together(writers, n, func(writer, _ int) error {
		for {
			_, err := ms[writer%processes].Pages.Update(b.ctx, page.ID, func(p *models.Page) error { p.Views++; return nil })
			if !errors.Is(err, kvmodel.ErrConflict) {
				return err
			}
			gaveUp.Add(1)
		}
	})
	if err != nil {
		return err
	}
	page, err = ms[0].Pages.Get(b.ctx, page.ID)
	if err != nil {
		return err
	}
	b.report(fmt.Sprintf("%d writers, %d Updates of one record: lost", writers, n), float64(int64(n)-page.Views), exactly(0))
	b.report("  of them started over, per Update", float64(lost.Load())/float64(n), atMost(processes).varying())
	b.report("  of them gave up after eight races, to be called again", float64(gaveUp.Load()), atMost(float64(n)/100).varying())
	return done()
}

// manyCreators lets many writers create records with the same unique values,
// and looks for values with no owner, or with an owner that was refused.
func manyCreators(b *bench) error {
	ms, _, done, err := b.contended()
	if err != nil {
		return err
	}
	values := b.size(1000)
	owners := make([]atomic.Int64, values)
	err = together(writers, writers*values, func(writer, call int) error {
		value := call / writers
		err := ms[writer%processes].Pages.Create(b.ctx, &models.Page{ID: fmt.Sprint(value, "-", writer), Slug: fmt.Sprint(value)})
		if err == nil {
			owners[value].Add(1)
		}
		if errors.Is(err, kvmodel.ErrExists) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	wrong := 0
	for value := range owners {
		_, err := ms[0].Pages.BySlug.Find(b.ctx, fmt.Sprint(value))
		if err != nil || owners[value].Load() != 1 {
			wrong++
		}
	}
	b.report(fmt.Sprintf("%d creators of %d values: not one owner", writers, values), float64(wrong), exactly(0))
	return done()
}

// mortal is the store of a process that dies before it has released any unique
// value: it refuses to do that, and once dead it refuses everything.
type mortal struct {
	plain
	dead atomic.Bool
}

func (s *mortal) Do(ctx context.Context, ops []kv.Op) error {
	releases := slices.ContainsFunc(ops, func(op kv.Op) bool {
		return op.Kind == kv.CompareAndDelete && strings.HasPrefix(op.Key, "u:")
	})
	if !releases && !s.dead.Load() {
		return s.plain.Do(ctx, ops)
	}
	kv.Check(ops, s.Powers())
	return kv.Fail(ops, fmt.Errorf("%w: killed", kvmodel.ErrUnavailable))
}

// recovery kills a process that has moved unique values without removing the old
// claims, and times how long another takes to repair that.
func recovery(b *bench) error {
	shared := plain{memkv.New(memkv.Options{})}
	victim := &mortal{plain: shared}
	db, m, err := openModels(victim)
	if err != nil {
		return err
	}
	n := b.size(2000)
	if err := together(16, n, func(_, call int) error { return moveOnce(b.ctx, m, fmt.Sprint(call)) }); err != nil {
		return err
	}
	victim.dead.Store(true)
	ended, cancel := context.WithCancel(b.ctx)
	cancel()
	_ = db.Close(ended) // It cannot, being dead; its goroutines end.

	var later atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	other, repaired, err := openModels(shared, kvmodel.Clock(clock))
	if err != nil {
		return err
	}
	defer other.Close(b.ctx)
	if err := other.Repair(b.ctx); err != nil { // sees the sign of life for the first time
		return err
	}
	later.Store(int64(31 * time.Second))
	start := time.Now()
	cost, err := b.cost(other.Repair)
	if err != nil {
		return err
	}
	took := time.Since(start)
	b.report(fmt.Sprintf("recovery of %d moved values: time", n), took.Seconds(), atMost(10).in("s"))
	b.report("  of it trips, for each 100 lines", float64(cost.Trips)*100/float64(2*n), atMost(10).varying())

	free := 0
	for i := range n {
		if repaired.Pages.Create(b.ctx, &models.Page{Slug: fmt.Sprint("old-", i)}) == nil {
			free++
		}
	}
	b.report("  of it old values free again", float64(free), exactly(float64(n)))
	return nil
}

// moveOnce creates a page and gives it another address.
func moveOnce(ctx context.Context, m *models.Models, id string) error {
	if err := m.Pages.Create(ctx, &models.Page{ID: id, Slug: "old-" + id}); err != nil {
		return err
	}
	_, err := m.Pages.Update(ctx, id, func(p *models.Page) error { p.Slug = "new-" + id; return nil })
	return err
}
