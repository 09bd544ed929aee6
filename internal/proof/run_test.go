package proof_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func inMemory(opts memkv.Options, wrap func(kv.Store) kv.Store) kvtest.Maker {
	c := proof.NewClock(time.Unix(1_800_000_000, 0))
	opts.Now = c.Now
	var mu sync.Mutex
	stores := make(map[string]*memkv.Store)
	return kvtest.Maker{
		Shared:  true,
		Kept:    true,
		Advance: c.Advance,
		Open: func(_ testing.TB, name string) kv.Store {
			mu.Lock()
			defer mu.Unlock()
			if stores[name] == nil {
				stores[name] = memkv.New(opts)
			}
			return wrap(&client{Store: stores[name]})
		},
	}
}

// Closing a client leaves the store to the others.
type client struct {
	*memkv.Store
	closed atomic.Bool
}

var errClosed = fmt.Errorf("%w: the client is closed", kv.ErrUnavailable)

func (c *client) Do(ctx context.Context, ops []kv.Op) error {
	if c.closed.Load() && kv.Check(ops, c.Powers()) > 0 {
		return kv.Fail(ops, errClosed)
	}
	return c.Store.Do(ctx, ops)
}

func (c *client) Powers() kv.Powers {
	powers := c.Store.Powers()
	atomic := powers.Atomic
	powers.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
		if c.closed.Load() {
			return errClosed
		}
		return atomic(ctx, f)
	}
	return powers
}

func (c *client) Close() error {
	c.closed.Store(true)
	return nil
}

func bare(s kv.Store) kv.Store { return s }

func TestRun_MemkvKeepsTheContract(t *testing.T) {
	kvtest.Run(t, inMemory(memkv.Options{}, bare))
}

func TestRun_WrappersKeepTheContract(t *testing.T) {
	for _, c := range []struct {
		name   string
		prefix int
		wrap   func(kv.Store) kv.Store
	}{
		{"Count", 0, kv.Count},
		{"Trace", 0, func(s kv.Store) kv.Store { return kv.Trace(s, func(context.Context, kv.Trip) {}) }},
		{"Retry", 0, func(s kv.Store) kv.Store { return kv.Retry(s, 3, time.Microsecond) }},
		{"Prefix", len("tenant:"), func(s kv.Store) kv.Store {
			p, err := kv.Prefix(s, "tenant")
			proof.Must(t, err)
			return p
		}},
		{"without powers", 0, withoutPowers},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := inMemory(memkv.Options{MaxItems: 1 << 20, Strict: true}, c.wrap)
			m.Prefix = c.prefix
			kvtest.Run(t, m)
		})
	}
}

func TestFaulty_KeepsTheContractOtherwise(t *testing.T) {
	kvtest.Run(t, inMemory(memkv.Options{}, func(s kv.Store) kv.Store { return kvtest.Faulty(s, 1<<40, kvtest.Unsent) }))
}

func withoutPowers(s kv.Store) kv.Store { return plain{s} }

type plain struct{ kv.Store }

func (p plain) Powers() kv.Powers { return kv.Powers{} }

func (p plain) Do(ctx context.Context, ops []kv.Op) error {
	kv.Check(ops, p.Powers())
	var good []kv.Op
	for _, op := range ops {
		if op.Result.Err == nil {
			good = append(good, op)
		}
	}
	err := p.Store.Do(ctx, good)
	for i := range ops {
		if ops[i].Result.Err == nil {
			ops[i].Result, good = good[0].Result, good[1:]
		}
	}
	return err
}
