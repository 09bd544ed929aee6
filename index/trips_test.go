package index_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// The trips of every verb, as the design promises them.
var verbs = []struct {
	name   string
	before func(ctx context.Context, p *people) error
	verb   func(ctx context.Context, p *people) error
	want   error

	plain         int // trips before the reply on a store without powers
	atomic, whole int // trips, and transactions among them, on one with Atomic
}{
	{name: "Get", plain: 1, atomic: 1,
		verb: func(ctx context.Context, p *people) error { _, err := p.Get(ctx, "ann"); return err }},
	{name: "Get of an absent record", plain: 1, atomic: 1, want: kv.ErrNotFound,
		verb: func(ctx context.Context, p *people) error { _, err := p.Get(ctx, "nobody"); return err }},
	{name: "GetMulti", plain: 1, atomic: 1,
		verb: func(ctx context.Context, p *people) error {
			_, err := p.GetMulti(ctx, []string{"ann", "bob", "nobody"})
			return err
		}},
	{name: "Load", plain: 1, atomic: 1,
		verb: func(ctx context.Context, p *people) error {
			_, err := kvmodel.Load(ctx, p.Records, []string{"ann", "bob", "ann"}, func(id string) string { return id })
			return err
		}},
	{name: "Create with a unique value", plain: 2, atomic: 1, whole: 1,
		verb: func(ctx context.Context, p *people) error { return p.Create(ctx, &person{Email: "new@x"}) }},
	{name: "Create with a unique value and a given id", plain: 2, atomic: 1, whole: 1,
		verb: func(ctx context.Context, p *people) error { return p.Create(ctx, &person{ID: "new", Email: "new@x"}) }},
	{name: "Create of an id in use", plain: 1, atomic: 1, whole: 1, want: kv.ErrExists,
		verb: func(ctx context.Context, p *people) error { return p.Create(ctx, &person{ID: "ann"}) }},
	{name: "Create with a value that is taken", plain: 3, atomic: 1, whole: 1, want: kv.ErrExists,
		verb: func(ctx context.Context, p *people) error { return p.Create(ctx, &person{Email: "ann@x"}) }},
	{name: "Update without index change", plain: 2, atomic: 2, whole: 1,
		verb: func(ctx context.Context, p *people) error { return count(ctx, p, "ann") }},
	{name: "Update without index change after a Get", plain: 1, atomic: 1, whole: 1, before: getAnn,
		verb: func(ctx context.Context, p *people) error { return count(ctx, p, "ann") }},
	{name: "Update that moves a unique value", plain: 3, atomic: 2, whole: 1,
		verb: func(ctx context.Context, p *people) error { return move(ctx, p, "ann", "new@x") }},
	{name: "Update that moves a unique value after a Get", plain: 2, atomic: 1, whole: 1, before: getAnn,
		verb: func(ctx context.Context, p *people) error { return move(ctx, p, "ann", "new@x") }},
	{name: "Update that changes nothing", plain: 1, atomic: 1,
		verb: func(ctx context.Context, p *people) error {
			_, err := p.Update(ctx, "ann", func(*person) error { return nil })
			return err
		}},
	{name: "Put of a new record", plain: 3, atomic: 2, whole: 1,
		verb: func(ctx context.Context, p *people) error { return p.Put(ctx, &person{ID: "new", Email: "new@x"}) }},
	{name: "Put over a record", plain: 2, atomic: 2, whole: 1,
		verb: func(ctx context.Context, p *people) error {
			return p.Put(ctx, &person{ID: "ann", Email: "ann@x", N: 7})
		}},
	{name: "Upsert of a new record", plain: 3, atomic: 2, whole: 1,
		verb: func(ctx context.Context, p *people) error {
			_, err := p.Upsert(ctx, "new", func(p *person) error { p.Email = "new@x"; return nil })
			return err
		}},
	{name: "Delete", plain: 2, atomic: 2, whole: 1,
		verb: func(ctx context.Context, p *people) error { return p.Delete(ctx, "ann") }},
	{name: "Delete after a Get", plain: 1, atomic: 1, whole: 1, before: getAnn,
		verb: func(ctx context.Context, p *people) error { return p.Delete(ctx, "ann") }},
	{name: "Find", plain: 2, atomic: 2,
		verb: func(ctx context.Context, p *people) error { _, err := p.ByEmail.Find(ctx, "ann@x"); return err }},
	{name: "Find of a value that is remembered", plain: 1, atomic: 1,
		before: func(ctx context.Context, p *people) error { _, err := p.ByEmail.Find(ctx, "ann@x"); return err },
		verb:   func(ctx context.Context, p *people) error { _, err := p.ByEmail.Find(ctx, "ann@x"); return err }},
	{name: "FindMulti", plain: 2, atomic: 2,
		verb: func(ctx context.Context, p *people) error {
			_, err := p.ByEmail.FindMulti(ctx, []string{"ann@x", "bob@x", "nobody@x"})
			return err
		}},
}

func getAnn(ctx context.Context, p *people) error { _, err := p.Get(ctx, "ann"); return err }

func count(ctx context.Context, p *people, id string) error {
	_, err := p.Update(ctx, id, func(p *person) error { p.N++; return nil })
	return err
}

func move(ctx context.Context, p *people, id, email string) error {
	_, err := p.Update(ctx, id, func(p *person) error { p.Email = email; return nil })
	return err
}

func TestRecords_EveryVerbCostsTheTripsItPromises(t *testing.T) {
	for _, v := range verbs {
		t.Run(v.name, func(t *testing.T) {
			if cost, _ := costOf(t, plain{memkv.New(memkv.Options{})}, v.before, v.verb, v.want); cost.Trips != v.plain {
				t.Errorf("plain: %v, want %d trips", cost, v.plain)
			}
			cost, whole := costOf(t, memkv.New(memkv.Options{}), v.before, v.verb, v.want)
			if cost.Trips != v.atomic || whole != v.whole {
				t.Errorf("atomic: %v, %d transactions; want %d trips, %d of them transactions", cost, whole, v.atomic, v.whole)
			}
		})
	}
}

// costOf returns what verb costs a process that has written before, and how
// many transactions were in it.
func costOf(t *testing.T, s kv.Store, before, verb func(context.Context, *people) error, want error) (kv.Cost, int) {
	t.Helper()
	ctx := t.Context()
	counted := &transactions{Store: s}
	db := closing(t, open(t, counted))
	p := newPeople(db)
	must(t, p.CreateMulti(ctx, []*person{{ID: "ann", Email: "ann@x"}, {ID: "bob", Email: "bob@x"}}))
	must(t, db.Flush(ctx))
	if before != nil {
		must(t, before(ctx, p))
	}
	n := counted.n.Load()
	mctx, m := kv.Metered(ctx)
	if err := verb(mctx, p); !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
	return m.Cost(), int(counted.n.Load() - n)
}

func TestRecords_AnIndexChangeCostsOneAppend(t *testing.T) {
	for name, verb := range map[string]func(ctx context.Context, p *people) error{
		"create": func(ctx context.Context, p *people) error { return p.Create(ctx, &person{Email: "new@x"}) },
		"move":   func(ctx context.Context, p *people) error { return move(ctx, p, "ann", "new@x") },
		"delete": func(ctx context.Context, p *people) error { return p.Delete(ctx, "ann") },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			var appends proof.Record[int] // the bytes of each
			s := kv.Trace(plain{memkv.New(memkv.Options{})}, func(_ context.Context, trip kv.Trip) {
				for _, op := range trip.Ops {
					// The verb's background work writes claims but no lines.
					if op.Kind == kv.Append && op.Key[:5] == "line:" {
						appends.Add(len(op.Value))
					}
				}
			})
			db := closing(t, open(t, s))
			p := newPeople(db)
			must(t, p.Create(ctx, &person{ID: "ann", Email: "ann@x"}))
			must(t, db.Flush(ctx))
			appends.Take()
			must(t, verb(ctx, p))
			must(t, db.Flush(ctx))
			lines := appends.Take()
			t.Logf("%s: a line of %d bytes", name, lines)
			if len(lines) != 1 || lines[0] > 100 {
				t.Errorf("appends of %d bytes, want 1 of at most 100", lines)
			}
		})
	}
}

// A process that dies during a trip has written its line, or nothing.
func TestRecords_TheLineIsTheFirstThingThatItsTripWrites(t *testing.T) {
	for name, verb := range map[string]func(ctx context.Context, b *books) error{
		"Create": func(ctx context.Context, b *books) error { return b.Create(ctx, &book{ID: "new", Author: "knuth"}) },
		"Update": func(ctx context.Context, b *books) error {
			_, err := b.Update(ctx, "a", func(b *book) error { b.Author = "new"; return nil })
			return err
		},
		"Delete": func(ctx context.Context, b *books) error { return b.Delete(ctx, "a") },
		"Delete after a Get": func(ctx context.Context, b *books) error {
			_, err := b.Get(ctx, "a")
			return errors.Join(err, b.Delete(ctx, "a"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var writes proof.Record[string]
			s := kv.Trace(plain{memkv.New(memkv.Options{})}, func(_ context.Context, trip kv.Trip) {
				for _, op := range trip.Ops {
					if op.Kind.Writes() {
						writes.Add(op.Key)
					}
				}
			})
			b := newBooks(closing(t, open(t, s)))
			must(t, b.Create(t.Context(), &book{ID: "a", Author: "knuth"}))
			must(t, b.db.Flush(t.Context()))
			writes.Take()
			must(t, verb(t.Context(), b))
			if written := writes.Take(); len(written) == 0 || !strings.HasPrefix(written[0], "line:") {
				t.Errorf("written in this order: %q", written)
			}
		})
	}
}
