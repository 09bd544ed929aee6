package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

// longFailovers kills masters of a Redis Cluster one after another, and reports how many
// writes were acknowledged and are gone, with and without waiting for a replica. How many
// that are is for Redis to say: it promises none of them.
func longFailovers(b *bench) error {
	return errors.Join(b.failovers(0), b.failovers(1))
}

func (b *bench) failovers(replicas int) error {
	if err := need("redis-server"); err != nil {
		return err
	}
	cluster, err := servers.RedisCluster()
	if err != nil {
		return err
	}
	defer cluster.Stop()
	store, err := rediskv.Open(b.ctx, rediskv.Options{Addrs: cluster.Addrs(), WaitReplicas: replicas, WaitTimeout: 200 * time.Millisecond})
	if err != nil {
		return err
	}
	defer store.Close()
	plain, err := rediskv.Open(b.ctx, rediskv.Options{Addrs: cluster.Addrs()})
	if err != nil {
		return err
	}
	defer plain.Close()
	kills := b.size(50)
	var all servers.Failover
	with := fmt.Sprintf("wait-replicas=%d: ", replicas)
	for n := range kills {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		f, err := cluster.LoseMaster(store, plain, fmt.Sprint("f", n), time.Minute)
		if err != nil {
			return fmt.Errorf("kill %d: %w", n+1, err)
		}
		all.Back = max(all.Back, f.Back)
		all.Stored, all.Unclear, all.Said, all.Lost = all.Stored+f.Stored, all.Unclear+f.Unclear, all.Said+f.Said, all.Lost+f.Lost
	}
	b.report(with+"kills of a master", float64(kills), exactly(float64(kills)))
	b.report(with+"until all slots took writes, at most", all.Back.Seconds(), target{}.in("s"))
	b.report(with+"writes acknowledged", float64(all.Stored), target{}.varying())
	b.report(with+"of these gone", float64(all.Lost), target{}.varying())
	b.report(with+"of these ErrLost", float64(all.Said), target{}.varying())
	b.report(with+"writes that were ErrUnclear", float64(all.Unclear), target{}.varying())
	return nil
}
