package index_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

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
