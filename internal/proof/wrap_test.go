package proof_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type twisted struct {
	kv.Store
	do func(ctx context.Context, s kv.Store, ops []kv.Op) error
}

func (w *twisted) Do(ctx context.Context, ops []kv.Op) error { return w.do(ctx, w.Store, ops) }

func (w *twisted) Powers() kv.Powers { return kv.PowersOf(w.Store) }

func before(change func(op *kv.Op)) wrapper {
	return trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		changed := slices.Clone(ops)
		for i := range changed {
			change(&changed[i])
		}
		err := s.Do(ctx, changed)
		for i := range ops {
			ops[i].Result = changed[i].Result
		}
		return err
	})
}

func after(change func(op *kv.Op)) wrapper {
	return trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		_ = s.Do(ctx, ops)
		for i := range ops {
			change(&ops[i])
		}
		return kv.Unanswered(ops)
	})
}

// instead carries out ops of kind want with do, one at a time.
func instead(want kv.Kind, do func(s kv.Store, op kv.Op) kv.Result) wrapper {
	return trip(func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		for i := range ops {
			if ops[i].Kind == want {
				ops[i].Result = do(s, ops[i])
				continue
			}
			_ = s.Do(ctx, ops[i:i+1])
		}
		return kv.Unanswered(ops)
	})
}

func trip(do func(context.Context, kv.Store, []kv.Op) error) wrapper {
	return func(s kv.Store) kv.Store { return &twisted{s, do} }
}

// Others may come between.
func doSlowly(s kv.Store, op kv.Op) kv.Result {
	time.Sleep(20 * time.Microsecond)
	r, _ := kv.One(context.Background(), s, op)
	return r
}

func hash(value []byte) kv.Version {
	h := fnv.New64a()
	h.Write(value)
	return kv.Version(h.Sum64() | 1)
}

func shareResults(s kv.Store) kv.Store {
	var mu sync.Mutex
	seen := make(map[kv.Version][]byte)
	return after(func(op *kv.Op) {
		mu.Lock()
		defer mu.Unlock()
		if op.Kind != kv.Get || op.Result.Err != nil {
			return
		}
		if value, ok := seen[op.Result.Version]; ok {
			op.Result.Value = value
		}
		seen[op.Result.Version] = op.Result.Value
	})(s)
}

func keepInputs(s kv.Store) kv.Store {
	var mu sync.Mutex
	given := make(map[string][]byte)
	return after(func(op *kv.Op) {
		mu.Lock()
		defer mu.Unlock()
		switch value, ok := given[op.Key]; {
		case op.Kind == kv.Set:
			given[op.Key] = op.Value
		case op.Kind == kv.Get && op.Result.Err == nil && ok:
			op.Result.Value = bytes.Clone(value)
		}
	})(s)
}

type otherAtomic struct {
	kv.Store
	atomic func(ctx context.Context, f func(kv.Store) error) error
}

func (o *otherAtomic) Powers() kv.Powers {
	powers := kv.PowersOf(o.Store)
	powers.Atomic = o.atomic
	return powers
}

func notAtomic(s kv.Store) kv.Store {
	return &otherAtomic{s, func(_ context.Context, f func(kv.Store) error) error {
		return f(after(func(*kv.Op) { time.Sleep(20 * time.Microsecond) })(s))
	}}
}

func wrapAtomicError(s kv.Store) kv.Store {
	return &otherAtomic{s, func(ctx context.Context, f func(kv.Store) error) error {
		if err := kv.PowersOf(s).Atomic(ctx, f); err != nil {
			return fmt.Errorf("atomic: %w", err)
		}
		return nil
	}}
}

type otherClose struct {
	kv.Store
	close func() error
}

func (o *otherClose) Powers() kv.Powers { return kv.PowersOf(o.Store) }
func (o *otherClose) Close() error      { return o.close() }

func neverClosed(s kv.Store) kv.Store { return &otherClose{s, func() error { return nil }} }

func closedOnce() wrapper {
	return func(s kv.Store) kv.Store {
		closed := false
		return &otherClose{s, func() error {
			if closed {
				return errors.New("closed already")
			}
			closed = true
			return s.Close()
		}}
	}
}
