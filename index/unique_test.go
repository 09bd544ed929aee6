package index_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
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

func eachStore(t *testing.T, f func(t *testing.T, ctx context.Context, db *kvmodel.DB, p *people)) {
	for name, s := range map[string]kv.Store{
		"atomic": memkv.New(memkv.Options{}),
		"plain":  plain{memkv.New(memkv.Options{})},
	} {
		t.Run(name, func(t *testing.T) {
			db := closing(t, open(t, s))
			f(t, t.Context(), db, newPeople(db))
		})
	}
}

func TestUnique_ACreatedRecordIsFoundByItsValue(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, db *kvmodel.DB, p *people) {
		a := &person{Email: "a@x", Names: []string{"ann", "anna"}}
		must(t, p.Create(ctx, a))
		got, err := p.ByEmail.Find(ctx, "a@x")
		if err != nil || got.ID != a.ID {
			t.Fatal(got, err)
		}
		got, err = p.ByNames.Find(ctx, "anna")
		if err != nil || got.ID != a.ID {
			t.Fatal(got, err)
		}
		mctx, m := kv.Metered(ctx)
		must(t, p.Create(mctx, &person{Email: "b@x"}))
		t.Log("create:", m.Cost())
		mctx, m = kv.Metered(ctx)
		err = p.Create(mctx, &person{Email: "a@x"})
		var taken *kvmodel.TakenError
		if !errors.As(err, &taken) || !errors.Is(err, kv.ErrExists) || taken.ID != a.ID {
			t.Fatal(err)
		}
		t.Log("taken:", m.Cost(), err)
		mctx, m = kv.Metered(ctx)
		up, err := p.Update(mctx, a.ID, func(p *person) error { p.N++; return nil })
		if err != nil || up.N != 1 {
			t.Fatal(up, err)
		}
		t.Log("update:", m.Cost())
		mctx, m = kv.Metered(ctx)
		_, err = p.Update(mctx, a.ID, func(p *person) error { p.Email = "c@x"; return nil })
		must(t, err)
		t.Log("update move:", m.Cost())
		must(t, db.Flush(ctx))
		if _, err = p.ByEmail.Find(ctx, "a@x"); !errors.Is(err, kv.ErrNotFound) {
			t.Fatal(err)
		}
		must(t, p.Create(ctx, &person{ID: "x", Email: "a@x"}))
		mctx, m = kv.Metered(ctx)
		if err := p.Create(mctx, &person{ID: "x", Email: "z@x"}); !errors.Is(err, kv.ErrExists) {
			t.Fatal(err)
		}
		t.Log("create existing:", m.Cost())
		mctx, m = kv.Metered(ctx)
		must(t, p.Delete(mctx, "x"))
		t.Log("delete:", m.Cost())
		must(t, db.Flush(ctx))
		if _, err = p.ByEmail.Find(ctx, "a@x"); !errors.Is(err, kv.ErrNotFound) {
			t.Fatal(err)
		}
		n := 0
		for _, err := range p.All(ctx) {
			must(t, err)
			n++
		}
		if n != 2 {
			t.Fatal("all:", n)
		}
		must(t, p.Create(ctx, &person{ID: "x", Email: "a@x"}))
	})
}

func TestUnique_OneOfManyCreatorsOfAValueWins(t *testing.T) {
	eachStore(t, func(t *testing.T, ctx context.Context, db *kvmodel.DB, p *people) {
		for v := range 50 {
			var wg sync.WaitGroup
			var mu sync.Mutex
			won := 0
			for range 16 {
				wg.Go(func() {
					err := p.Create(ctx, &person{Email: fmt.Sprint(v)})
					if err == nil {
						mu.Lock()
						won++
						mu.Unlock()
					} else if !errors.Is(err, kv.ErrExists) && !errors.Is(err, kv.ErrConflict) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if won != 1 {
				t.Fatal(v, won)
			}
		}
	})
}
