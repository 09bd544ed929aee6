package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

// clusterKill kills a master of a Redis Cluster under load, and measures how
// long it takes until all keys are served again.
func clusterKill(b *bench) error {
	if err := need("redis-server"); err != nil {
		return err
	}
	cluster, err := servers.RedisCluster()
	if err != nil {
		return err
	}
	defer cluster.Stop()
	store, err := rediskv.Open(b.ctx, rediskv.Options{Addrs: cluster.Addrs()})
	if err != nil {
		return err
	}
	defer store.Close()
	keys, err := fill(b.ctx, store, 64)
	if err != nil {
		return err
	}

	load := startLoad(b.ctx, store, keys)
	time.Sleep(time.Second)
	cluster.Kill(cluster.Masters()[0])
	outage, err := awaitAll(b.ctx, store, keys)
	calls, late := load.stop()
	if err != nil {
		return err
	}
	b.report("rediskv: until a cluster serves after kill -9 of a master", outage.Seconds(), atMost(10).in("s"))
	b.report("rediskv: calls under load meanwhile", float64(calls), atLeast(100).varying())
	b.report("rediskv: of these more than 1 s past their deadline", float64(late), exactly(0))
	return nil
}

// awaitAll writes all keys until that succeeds, and returns how long it took.
func awaitAll(ctx context.Context, s kvmodel.Store, keys []string) (time.Duration, error) {
	start := time.Now()
	for time.Since(start) < time.Minute {
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := fill(try, s, len(keys))
		cancel()
		if err == nil {
			return time.Since(start), nil
		}
	}
	return 0, fmt.Errorf("the cluster does not serve all keys within a minute")
}

// load is sixteen clients that write and read under a deadline each time.
type load struct {
	cancel  context.CancelFunc
	running sync.WaitGroup

	calls, late atomic.Int64
}

func startLoad(ctx context.Context, s kvmodel.Store, keys []string) *load {
	ctx, cancel := context.WithCancel(ctx)
	l := &load{cancel: cancel}
	for client := range 16 {
		l.running.Go(func() {
			for call := client; ctx.Err() == nil; call++ {
				l.call(ctx, s, keys[call%len(keys)])
			}
		})
	}
	return l
}

func (l *load) call(ctx context.Context, s kvmodel.Store, key string) {
	const limit = time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start := time.Now()
	// Any error is fine during the outage, as long as the call ends.
	_ = s.Do(ctx, []kv.Op{kv.OpGet(key), kv.OpSet(key, []byte("load"))})
	if time.Since(start) > limit+time.Second {
		l.late.Add(1)
	}
	l.calls.Add(1)
}

// stop ends the clients and returns how often they called, and how many calls
// outlived their deadline.
func (l *load) stop() (calls, late int64) {
	l.cancel()
	l.running.Wait()
	return l.calls.Load(), l.late.Load()
}
