package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

type page struct {
	ID     string
	Author string
	Body   string
	Draft  bool
}

type pages struct {
	*kvmodel.Records[page, string]
	db       *kvmodel.DB
	newest   *timeline.Ring[page]
	byAuthor *timeline.Rings[page, string]
}

type asJSON[T any] = proof.JSON[T]

// schemaOf returns the schema of a model with the ids that id points to.
func schemaOf[T any](name string, id func(*T) *string) kvmodel.Schema[T, string] {
	return kvmodel.Schema[T, string]{
		Name: name, Version: 1, Key: kvmodel.StringKey[string](), Codec: asJSON[T]{},
		ID: func(v *T) string { return *id(v) }, SetID: func(v *T, text string) { *id(v) = text },
	}
}

// by is the field of a record that is its owner.
func by[T any](value func(*T) string) kvmodel.By[T, string] {
	return kvmodel.By[T, string]{Key: kvmodel.StringKey[string](), Value: value}
}

func openPages(s kv.Store, shape timeline.Shape, opts ...kvmodel.Option) *pages {
	return openSpec(s, timeline.Spec[page]{Shape: shape}, opts...)
}

func openSpec(s kv.Store, spec timeline.Spec[page], opts ...kvmodel.Option) *pages {
	spec.If = func(p *page) bool { return !p.Draft }
	p := openNewest(s, spec, opts...)
	spec.Value = func(p *page) string { return timeline.Text(p.Body) }
	spec.Name, spec.Def = "NewestByAuthor", "timeline Body by Author"
	p.byAuthor = timeline.NewRings(p.Records, spec, by(func(p *page) string { return p.Author }))
	return p
}

func openRing(s kv.Store, shape timeline.Shape, opts ...kvmodel.Option) *pages {
	return openNewest(s, timeline.Spec[page]{Shape: shape}, opts...)
}

func openNewest(s kv.Store, spec timeline.Spec[page], opts ...kvmodel.Option) *pages {
	db, err := kvmodel.Open(s, opts...)
	if err != nil {
		panic(err)
	}
	r := kvmodel.NewRecords(db, schemaOf("Page", func(p *page) *string { return &p.ID }))
	spec.Name, spec.Def = "Newest", "timeline Body"
	spec.Value = func(p *page) string { return timeline.Text(p.Body) }
	return &pages{Records: r, db: db, newest: timeline.NewRing(r, spec)}
}

// plain hides the powers of a store, and outlives its users.
type plain struct{ kv.Store }

func (plain) Powers() kv.Powers { return kv.Powers{} }
func (plain) Close() error      { return nil }

// eachStore runs f with and without transactions.
func eachStore(t *testing.T, f func(t *testing.T, s kv.Store)) {
	t.Run("atomic", func(t *testing.T) { f(t, memkv.New(memkv.Options{})) })
	t.Run("plain", func(t *testing.T) { f(t, plain{memkv.New(memkv.Options{})}) })
}

var ctx = context.Background()

type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.move(1_800_000_000 * time.Second)
	return c
}

func (c *clock) now() time.Time       { return time.Unix(0, c.nanos.Load()) }
func (c *clock) move(d time.Duration) { c.nanos.Add(int64(d)) }

func (c *clock) tick() time.Time {
	return time.Unix(0, c.nanos.Add(int64(time.Millisecond)))
}

var must = proof.Must

func (p *pages) create(t testing.TB, id, author, body string) {
	t.Helper()
	must(t, p.Create(ctx, &page{ID: id, Author: author, Body: body}))
}

func (p *pages) createMany(t testing.TB, prefix string, n int) {
	t.Helper()
	for i := range n {
		p.create(t, fmt.Sprint(prefix, i), "ann", "text")
	}
}

func closing[P interface{ close(testing.TB) }](t testing.TB, p P) P {
	t.Cleanup(func() { p.close(t) })
	return p
}

// walk returns all pages of n. It calls between after each.
func walk[T any](t testing.TB, l kvmodel.Lister[T], n int, between ...func()) (all []kvmodel.Listing[T]) {
	t.Helper()
	for cursor := ""; len(all) == 0 || cursor != ""; cursor = all[len(all)-1].Next {
		p, err := l.Page(ctx, cursor, n)
		must(t, err)
		if all = append(all, p); len(all) > 1000 || len(p.Items) > n {
			t.Fatalf("the pages do not end, or one of %d has %d records", n, len(p.Items))
		}
		for _, f := range between {
			f()
		}
	}
	return all
}

// wantWalk asserts that pages of n show want, in both directions.
func wantWalk(t testing.TB, what string, want []string, r *timeline.Ring[page], n int) {
	t.Helper()
	var all []*page
	pages := walk(t, r, n)
	for _, p := range pages {
		all = append(all, p.Items...)
	}
	wantIDs(t, what, want, all)
	for i := len(pages) - 1; i > 0; i-- {
		wantIDs(t, fmt.Sprint(what, ", before page ", i), ids(pages[i-1].Items), listed(t, r, pages[i].Prev, n).Items)
	}
	if pages[0].Prev != "" {
		t.Error(what, ": the newest page has a Prev")
	}
}

func (p *pages) edit(t testing.TB, id string, f func(*page)) {
	t.Helper()
	if _, err := p.Update(ctx, id, func(p *page) error { f(p); return nil }); err != nil {
		t.Fatal(err)
	}
}

func (p *pages) close(t testing.TB) {
	t.Helper()
	if err := p.db.Close(ctx); err != nil {
		t.Error("close:", err)
	}
}

func ids(items []*page) []string { return kv.Texts(items, func(p *page) string { return p.ID }) }

func listed(t testing.TB, r *timeline.Ring[page], cursor string, n int) kvmodel.Listing[page] {
	t.Helper()
	l, err := r.Page(ctx, cursor, n)
	must(t, err)
	return l
}

func wantIDs(t testing.TB, what string, want []string, items []*page) {
	t.Helper()
	proof.NoDiff(t, cmp.Diff(want, ids(items)), "%s", what)
}

func names(prefix string, from, to int) []string {
	all := []string{}
	for i := from; ; {
		all = append(all, fmt.Sprint(prefix, i))
		if i == to {
			return all
		}
		if from > to {
			i--
		} else {
			i++
		}
	}
}

func TestRing_Page_NewestFirst(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.Store) {
		p := closing(t, openPages(s, timeline.Shape{}))
		wantIDs(t, "an empty ring", []string{}, listed(t, p.newest, "", 20).Items)
		p.createMany(t, "p", 5)
		wantIDs(t, "five", names("p", 4, 0), listed(t, p.newest, "", 20).Items)
		p.edit(t, "p1", func(p *page) { p.Body = "new" })
		wantIDs(t, "an edited one moves", []string{"p1", "p4", "p3", "p2", "p0"}, listed(t, p.newest, "", 20).Items)
		p.edit(t, "p0", func(p *page) { p.Author = "bob" })
		wantIDs(t, "another field does not move it", []string{"p1", "p4", "p3", "p2", "p0"}, listed(t, p.newest, "", 20).Items)
		wantIDs(t, "by author", []string{"p1", "p4", "p3", "p2"}, listed(t, p.byAuthor.Of("ann"), "", 20).Items)
		wantIDs(t, "by author, moved", []string{"p0"}, listed(t, p.byAuthor.Of("bob"), "", 20).Items)
		p.edit(t, "p4", func(p *page) { p.Draft = true })
		must(t, p.Delete(ctx, "p3"))
		wantIDs(t, "left and deleted", []string{"p1", "p2", "p0"}, listed(t, p.newest, "", 20).Items)
		p.edit(t, "p4", func(p *page) { p.Draft = false })
		wantIDs(t, "back", []string{"p4", "p1", "p2", "p0"}, listed(t, p.newest, "", 20).Items)
	})
}

func TestRing_Page_CursorsLeadThroughTheRingAndBack(t *testing.T) {
	for _, shape := range []timeline.Shape{{}, {Size: 100, Segment: 7}, {Size: 100, Segment: 1}, {Size: 33, Segment: 33}} {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			eachStore(t, func(t *testing.T, s kv.Store) { pagesThrough(t, s, shape) })
		})
	}
}

func pagesThrough(t *testing.T, s kv.Store, shape timeline.Shape) {
	p := closing(t, openPages(s, shape))
	const made = 350
	p.createMany(t, "p", made)
	must(t, p.db.Flush(ctx))
	size := min(made, shape.Size)
	if size == 0 {
		size = made
	}
	wantWalk(t, "all pages", names("p", made-1, made-size), p.newest, 20)
	i := made
	for got, err := range p.newest.All(ctx) {
		if i--; err != nil || got.ID != fmt.Sprint("p", i) {
			t.Fatal(got, err, "at", i)
		}
	}
	proof.Equal(t, i, made-size, "All ends at")
	first, last, err := p.newest.InUse(ctx)
	if want := int64(made - size + 1); first != want || last != made || err != nil {
		t.Errorf("in use: %d to %d, %v; want %d to %d", first, last, err, want, made)
	}
}

func TestRing_Page_RefusesBadCursorsAndSizes(t *testing.T) {
	p := closing(t, openPages(memkv.New(memkv.Options{}), timeline.Shape{}))
	p.create(t, "a", "ann", "x")
	p.create(t, "b", "ann", "x")
	next := listed(t, p.newest, "", 1).Next
	for name, test := range map[string]struct {
		ring   *timeline.Ring[page]
		cursor string
		n      int
		want   error
	}{
		"no records":   {p.newest, "", 0, kvmodel.ErrInvalid},
		"fewer":        {p.newest, "", -1, kvmodel.ErrInvalid},
		"another ring": {p.byAuthor.Of("ann"), next, 1, kvmodel.ErrBadCursor},
		"no cursor":    {p.newest, "x", 1, kvmodel.ErrBadCursor},
		"too long":     {p.newest, "", kvmodel.MaxPage + 1, kvmodel.ErrInvalid},
	} {
		if _, err := test.ring.Page(ctx, test.cursor, test.n); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

type broken struct {
	kv.Store
	refuses func(kv.Op) bool
}

func (b *broken) Powers() kv.Powers { return kv.Powers{} }

func (b *broken) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if b.refuses != nil && b.refuses(ops[i]) {
			ops[i].Result = kv.Result{Err: kv.ErrUnavailable}
			continue
		}
		_ = b.Store.Do(ctx, ops[i:i+1])
	}
	return kv.Unanswered(ops)
}
