package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/lease"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// Processes take, renew and return a lease, sleep, and die. By its own clock a holder has the lease
// until TTL after it sent the last request that succeeded. No two may have it at once.
func TestSweep_NoTwoProcessesHaveTheLeaseAtOnce(t *testing.T) {
	taken := 0
	for name, powers := range map[string]kvtest.Powers{"server": kvtest.ServerPowers, "plain": kvtest.NoPowers} {
		t.Run(name, func(t *testing.T) {
			world := kvtest.Hostile(powers)
			world.MaxCrashes, taken = 2, 0
			proof.Sweep(t, 100, world, func(sim *kvtest.Sim) {
				h := &holders{t: t, until: make(map[string]time.Time)}
				for i := range 3 {
					name := fmt.Sprint("process", i)
					sim.Go(name, func(s kv.Store) { h.work(s, name) })
				}
				sim.Wait()
				taken += h.taken
			})
			if taken == 0 {
				t.Error("nobody had the lease")
			}
		})
	}
}

type holders struct {
	t     *testing.T
	until map[string]time.Time // by process
	taken int
}

const ttl = time.Minute

func (h *holders) work(s kv.Store, name string) {
	ctx := context.Background()
	for round := range 3 {
		l := &lease.Lease{Key: "lease", Token: fmt.Append(nil, name, round), TTL: ttl, Now: time.Now}
		for range 4 {
			began := time.Now()
			if mine, err := l.Take(ctx, s); !mine {
				if err != nil && !kv.Failed(err) {
					h.t.Errorf("take: %v", err)
				}
				kv.Pause(ctx, s, ttl/3)
				continue
			}
			h.has(name, began)
			h.keep(ctx, s, name, l)
			break
		}
	}
}

func (h *holders) keep(ctx context.Context, s kv.Store, name string, l *lease.Lease) {
	for i := range 4 {
		kv.Pause(ctx, s, ttl/4<<(i%3)) // the third time for as long as TTL
		began := time.Now()
		if err := l.Renew(ctx, s); errors.Is(err, lease.ErrEnded) {
			if early := time.Until(h.until[name]); early > 0 {
				h.t.Errorf("%s: the lease has ended %v early", name, early)
			}
			return
		} else if err == nil {
			h.has(name, began)
		}
	}
	delete(h.until, name)
	if err := l.Return(ctx, s); err != nil && !kv.Failed(err) {
		h.t.Errorf("return: %v", err)
	}
}

func (h *holders) has(name string, began time.Time) {
	h.taken++
	for other, until := range h.until {
		if other != name && time.Now().Before(until) {
			h.t.Errorf("%s has the lease, and %s until %v", name, other, until)
		}
	}
	h.until[name] = began.Add(ttl)
}

func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_NoTwoProcessesHaveTheLeaseAtOnce", "blind add lease", "blind cas lease", "blind cad lease")
}
