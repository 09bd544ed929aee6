package main

import (
	"time"

	"github.com/ringtree/ringtree/internal/proof/servers"
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
	outage, err := cluster.KillMaster(store, time.Minute)
	if err != nil {
		return err
	}
	b.report("rediskv: until a cluster serves after kill -9 of a master", outage.Back.Seconds(), atMost(10).in("s"))
	b.report("rediskv: calls under load at the same time", float64(outage.Calls), atLeast(100).varying())
	b.report("rediskv: of these more than 1 s past their deadline", float64(outage.Late), exactly(0))
	return nil
}
