package index_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

type person struct {
	ID    string
	Email string
	Names []string
	N     int
}

type people struct {
	*kvmodel.Records[person, string]
	ByEmail *index.Unique[person, string]
	ByNames *index.Unique[person, string]
}

type asJSON[T any] struct{}

func (asJSON[T]) Append(dst []byte, v *T) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(dst, b...), err
}

func (asJSON[T]) Unmarshal(data []byte, v *T) (bool, error) { return false, json.Unmarshal(data, v) }

func (asJSON[T]) Merge(_, next []byte) ([]byte, error) { return next, nil }

func newPeople(db *kvmodel.DB) *people {
	r := kvmodel.NewRecords(db, schemaOf("Person", func(p *person) *string { return &p.ID }))
	return &people{
		Records: r,
		ByEmail: index.NewUnique(r, kvmodel.IndexSpec[person, string]{
			Name: "ByEmail", Fields: []string{"Email"}, Key: kvmodel.StringKey[string](),
			Values: func(p *person) []string { return []string{p.Email} },
		}),
		ByNames: index.NewUnique(r, kvmodel.IndexSpec[person, string]{
			Name: "ByNames", Fields: []string{"Names"}, Key: kvmodel.StringKey[string](),
			Values: func(p *person) []string { return p.Names },
		}),
	}
}

func TestUnique_AValueOfAPrivateFieldIsMaskedInTheErrorThatItIsTaken(t *testing.T) {
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	must(t, err)
	defer db.Close(t.Context())
	r := kvmodel.NewRecords(db, schemaOf("Person", func(p *person) *string { return &p.ID }, func(s *kvmodel.Schema[person, string]) {
		s.Private = []string{"Email"}
	}))
	index.NewUnique(r, kvmodel.IndexSpec[person, string]{
		Name: "ByEmail", Def: "unique Email string", Fields: []string{"Email"}, Key: kvmodel.StringKey[string](),
		Values: func(p *person) []string { return []string{p.Email} },
	})
	must(t, r.Create(t.Context(), &person{ID: "ann", Email: "ann@secret"}))
	err = r.Create(t.Context(), &person{ID: "bob", Email: "ann@secret"})
	taken, ok := errors.AsType[*kvmodel.TakenError](err)
	if !ok || taken.Value != "ann@secret" || err.Error() != `Person.ByEmail: Email *** is taken by "ann"` {
		t.Errorf("%v", err)
	}
}

type plain struct{ kv.Store }

func (plain) Powers() kv.Powers { return kv.Powers{} }

func TestUnique_ARecordIsFoundByTheValuesItHolds(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		db := closing(t, open(t, s))
		p := newPeople(db)
		ann := &person{Email: "a@x", Names: []string{"ann", "anna"}}
		must(t, p.Create(ctx, ann))
		found(t, ctx, p, "a@x", ann.ID)
		if got, err := p.ByNames.Find(ctx, "anna"); err != nil || got.ID != ann.ID {
			t.Errorf("anna is %+v, %v", got, err)
		}
		err := p.Create(ctx, &person{Email: "a@x"})
		if taken, ok := errors.AsType[*kvmodel.TakenError](err); !ok || !errors.Is(err, kv.ErrExists) || taken.ID != ann.ID {
			t.Errorf("want a TakenError of %s, got %v", ann.ID, err)
		}
		must(t, move(ctx, p, ann.ID, "c@x"))
		for range 2 {
			must(t, db.Flush(ctx))
			_, err := p.ByEmail.Find(ctx, "a@x")
			wantError(t, err, kv.ErrNotFound)
			must(t, p.Create(ctx, &person{ID: "x", Email: "a@x"}))
			wantError(t, p.Create(ctx, &person{ID: "x", Email: "z@x"}), kv.ErrExists)
			must(t, p.Delete(ctx, "x"))
		}
	})
}

// onNear returns the people of two processes with one near cache, which hears of no changes, and of
// a third without.
func onNear(t *testing.T) (first, second, third *people) {
	t.Helper()
	mem := plain{memkv.New(memkv.Options{})}
	near, err := nearkv.New(mem, nearkv.Options{Bytes: 1 << 20, Age: time.Hour})
	must(t, err)
	of := func(s kv.Store) *people { return newPeople(closing(t, open(t, shared{s}))) }
	return of(near), of(near), of(mem)
}

func found(t *testing.T, ctx context.Context, p *people, email, want string) {
	t.Helper()
	got, err := p.ByEmail.Find(ctx, email)
	if err != nil || got.ID != want {
		t.Errorf("%s is held by %+v, %v; want %s", email, got, err, want)
	}
}

func TestUnique_Find_IsAnsweredFromMemory(t *testing.T) {
	first, second, third := onNear(t)
	must(t, third.Create(t.Context(), &person{ID: "a", Email: "x"}))
	found(t, t.Context(), first, "x", "a")
	_, err := second.ByEmail.Find(t.Context(), "nobody's") // it asks which indexes are whole
	if !errors.Is(err, kv.ErrNotFound) {
		t.Fatal(err)
	}
	ctx, meter := kvmodel.Metered(t.Context())
	found(t, ctx, second, "x", "a")
	if n := meter.Cost().Trips; n != 0 {
		t.Errorf("a process that remembers no holder took %d trips, although all is in memory", n)
	}
}

func TestUnique_Find_AsksTheStoreIfMemoryIsOld(t *testing.T) {
	first, second, third := onNear(t)
	ctx := t.Context()
	must(t, third.Create(ctx, &person{ID: "a", Email: "x"}))
	found(t, ctx, first, "x", "a")
	if _, err := first.ByEmail.Find(ctx, "y"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("y: %v, want not found", err)
	}
	must(t, third.Put(ctx, &person{ID: "a", Email: "y"}))
	must(t, third.Create(ctx, &person{ID: "b", Email: "x"}))
	// of records that first wrote, nothing old is in memory
	_, err := first.Update(ctx, "a", func(p *person) error { p.N++; return nil })
	must(t, err)
	for _, p := range []*people{first, second} {
		found(t, ctx, p, "x", "b")
		found(t, ctx, p, "y", "a")
	}
}
