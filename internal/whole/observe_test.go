package whole_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type observed struct {
	mu     sync.Mutex
	begun  map[kv.Work]int
	under  map[kv.Work]int // verbs in progress
	trips  map[kv.Work]int
	strays []string // trips under no verb, or another verb than they say
}

func (o *observed) hooks() kvmodel.Hooks {
	return kvmodel.Hooks{Verb: o.verb, Trip: o.trip}
}

type verbKey struct{}

func (o *observed) verb(ctx context.Context, w kv.Work) (context.Context, func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun[w]++
	o.under[w]++
	return context.WithValue(ctx, verbKey{}, w), func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.under[w]--
	}
}

func (o *observed) trip(ctx context.Context, trip kv.Trip) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.trips[trip.For]++
	if under, _ := ctx.Value(verbKey{}).(kv.Work); trip.For.Verb == "" || under != trip.For {
		keys := make([]string, len(trip.Ops))
		for i, op := range trip.Ops {
			keys[i] = op.Kind.String() + " " + op.Key
		}
		o.strays = append(o.strays, trip.For.String()+" under "+under.String()+": "+strings.Join(keys, ", "))
	}
}

func TestObserve_EveryTripSaysWhoHasAsked(t *testing.T) {
	for name, store := range map[string]kv.Store{
		"with transactions": memkv.New(memkv.Options{}),
		"without":           struct{ kv.Store }{memkv.New(memkv.Options{})},
	} {
		t.Run(name, func(t *testing.T) {
			o := &observed{begun: map[kv.Work]int{}, under: map[kv.Work]int{}, trips: map[kv.Work]int{}}
			l, err := whole.Open(store, kvmodel.Observe(o.hooks()))
			must(t, err)
			w := whole.NewWriter(l, 0, rand.New(rand.NewPCG(1, 1)), new(whole.Diary))
			for range 400 {
				w.Step(t.Context())
			}
			l.Look(t.Context())
			if kv.PowersOf(store).Atomic != nil {
				for _, m := range l.All() {
					must(t, m.Rebuild(t.Context()))
				}
			}
			must(t, l.DB.Repair(t.Context()))
			must(t, l.DB.Close(t.Context()))
			o.check(t)
		})
	}
}

func (o *observed) check(t *testing.T) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, stray := range o.strays[:min(len(o.strays), 20)] {
		t.Error("a trip for", stray)
	}
	for w, n := range o.under {
		proof.Equal(t, n, 0, "%v has not ended", w)
	}
	for w := range o.trips {
		if o.begun[w] == 0 {
			t.Errorf("trips for %v, which has not begun", w)
		}
	}
	for _, want := range []kv.Work{
		{Model: "Work", Verb: "Create"}, {Model: "Work", Verb: "Update"}, {Model: "Work", Index: "BySlug", Verb: "Find"},
		{Model: "Work", Index: "Views", Verb: "Hit"}, {Model: "Visit", Verb: "Push"},
		{Model: "Work", Verb: "upkeep"}, {Verb: "Repair"},
	} {
		if o.trips[want] == 0 {
			t.Errorf("no trip for %v", want)
		}
	}
	if n := len(o.trips); n > 250 {
		t.Errorf("trips for %d works: they should be few", n)
	}
}
