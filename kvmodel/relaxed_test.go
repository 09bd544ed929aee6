package kvmodel_test

import (
	"context"
	"maps"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// relaxations is a store that counts the writes that need not wait for the disk, and the others.
type relaxations struct {
	kv.Store
	relaxed, others atomic.Int64
}

func (s *relaxations) count(ctx context.Context) {
	if kv.IsRelaxed(ctx) {
		s.relaxed.Add(1)
	} else {
		s.others.Add(1)
	}
}

func (s *relaxations) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if ops[i].Kind != kv.Get {
			s.count(ctx)
			break
		}
	}
	return s.Store.Do(ctx, ops)
}

func (s *relaxations) Powers() kv.Powers {
	p := kv.PowersOf(s.Store)
	inner := p.Atomic
	p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
		s.count(ctx)
		return inner(ctx, f)
	}
	return p
}

func TestRelaxed_IsEveryChangeOfARelaxedModelAndUnderARelaxedContext(t *testing.T) {
	var hits *index.Counter[string]
	verbs := maps.Clone(writes)
	verbs["Hit"] = func(ctx context.Context, _ *notes) error { _, err := hits.Hit(ctx, "a"); return err }
	for verb, change := range verbs {
		for name, test := range map[string]struct {
			model, relaxed bool
			under          func(context.Context) context.Context
		}{
			"neither":   {false, false, func(ctx context.Context) context.Context { return ctx }},
			"the model": {true, true, func(ctx context.Context) context.Context { return ctx }},
			"the call":  {false, true, kvmodel.Relaxed},
		} {
			file, err := boltkv.Open(filepath.Join(t.TempDir(), "file"), boltkv.Options{Durability: boltkv.Unsynced})
			must(t, err)
			s := &relaxations{Store: file}
			schema := simpleNotes()
			schema.Relaxed = test.model
			schema.Counters = []kvmodel.CounterOf[note]{{Name: "Hits", Set: func(*note, int64) {}}}
			all := kvmodel.NewRecords(open(t, s), schema)
			hits = index.NewCounter(all, "Hits")
			must(t, all.Create(t.Context(), &note{ID: "a", Text: "a"}))
			s.relaxed.Store(0)
			s.others.Store(0)
			must(t, change(test.under(t.Context()), all))
			if relaxed, others := s.relaxed.Load(), s.others.Load(); relaxed > 0 != test.relaxed || others > 0 == test.relaxed {
				t.Errorf("%s, %s is relaxed: %d relaxed writes and %d others", verb, name, relaxed, others)
			}
		}
	}
}
