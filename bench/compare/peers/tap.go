package peers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ringtree/ringtree/bench/compare/peers/model"
	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// tap counts the trips to a store, and keeps those of one piece of work.
type tap struct {
	kv.Store
	trips atomic.Int64
	open  atomic.Bool

	mu   sync.Mutex
	kept [][]kv.Op
}

func (t *tap) Powers() kv.Powers { return kv.PowersOf(t.Store) }

func (t *tap) Do(ctx context.Context, ops []kv.Op) error {
	err := t.Store.Do(ctx, ops)
	if !kv.AllNear(ops) {
		t.trips.Add(1)
	}
	if t.open.Load() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.kept = append(t.kept, slices.Clone(ops))
	}
	return err
}

// during returns the trips that work makes.
func (t *tap) during(work func() error) ([][]kv.Op, error) {
	t.kept = nil
	t.open.Store(true)
	err := work()
	t.open.Store(false)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept, err
}

func (r *ringtree) Trips() int64 { return r.tap.trips.Load() }

// step is one trip of reads.
type step struct {
	ops    []kv.Op
	bodies []int // how long the page is that ends the value of an op; 0: the value is no page
}

func (r *ringtree) Replay(ctx context.Context, work func() error) (func(context.Context) error, error) {
	trips, err := r.tap.during(work)
	if err != nil {
		return nil, err
	}
	steps := make([]step, len(trips))
	for i, ops := range trips {
		if steps[i], err = newStep(ops); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error {
		for _, s := range steps {
			if err := s.do(ctx, r.tap.Store); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func newStep(ops []kv.Op) (step, error) {
	s := step{ops, make([]int, len(ops))}
	for i := range ops {
		op := &ops[i]
		if op.Kind.Writes() {
			return s, fmt.Errorf("the work writes %s, so it cannot be done again", op.Key)
		}
		if strings.HasPrefix(op.Key, "r:Page:") && op.Result.Err == nil {
			record, err := envelope.Decode(op.Result.Value)
			if err != nil {
				return s, err
			}
			s.bodies[i] = len(record.Body)
		}
		op.Result = kv.Result{}
	}
	return s, nil
}

func (s step) do(ctx context.Context, store kv.Store) error {
	ops := slices.Clone(s.ops)
	if err := store.Do(ctx, ops); err != nil {
		return err
	}
	for i, body := range s.bodies {
		if body == 0 {
			continue
		}
		value := ops[i].Result.Value
		if _, err := model.PageCodec().Unmarshal(value[len(value)-body:], new(model.Page)); err != nil {
			return err
		}
	}
	return nil
}
