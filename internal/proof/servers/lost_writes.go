package servers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Failover is the fate of the writes in progress when a master died.
type Failover struct {
	Back    time.Duration // from the kill until all slots accepted a write again
	Stored  int           // acknowledged writes
	Unclear int           // unacknowledged writes that may have been carried out
	Said    int           // acknowledged writes with keys that are ErrLost
	Lost    int           // acknowledged writes that are gone
}

// LoseMaster ends the first master with kill -9 while 16 clients of store write, each under its own
// keys beginning with name. It returns when the cluster has accepted writes of plain, a store that
// waits for no replica, for another half second, and the killed node has come back as a replica.
func (c *Cluster) LoseMaster(store, plain kv.Store, name string, limit time.Duration) (Failover, error) {
	masters := c.Masters()
	if len(masters) == 0 {
		return Failover{}, errors.New("the Redis Cluster has no master")
	}
	w := &writes{store: store}
	end := busy(func(client, n int) { w.write(fmt.Sprintf("%s:%d:%d", name, client, n)) })
	time.Sleep(callTime / 2)
	killed := time.Now()
	c.Kill(masters[0])
	err := awaitWrites(plain, limit)
	w.found.Back = time.Since(killed)
	time.Sleep(callTime / 2)
	end()
	if err == nil {
		err = c.nodes[masters[0]].Start()
	}
	if err == nil {
		err = c.await(ready)
	}
	if err == nil {
		err = w.look()
	}
	return w.found, err
}

// writes are the writes of clients while a master dies.
type writes struct {
	store kv.Store

	mu    sync.Mutex
	keys  []string // of acknowledged writes
	found Failover
}

func (w *writes) write(key string) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	_, err := kv.One(ctx, w.store, kv.OpSet(key, []byte(key)))
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.keys = append(w.keys, key)
		w.found.Stored++
	case errors.Is(err, kv.ErrUnclear):
		w.found.Unclear++
	}
}

// look reads all acknowledged writes.
func (w *writes) look() error {
	const atOnce = 500
	for from := 0; from < len(w.keys); from += atOnce {
		keys := w.keys[from:min(from+atOnce, len(w.keys))]
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		got, err := kv.GetAll(ctx, w.store, keys...)
		cancel()
		if err != nil && !errors.Is(err, kv.ErrLost) {
			return fmt.Errorf("look for what was acknowledged: %w", err)
		}
		var drops []kv.Op
		for i, r := range got {
			switch {
			case errors.Is(r.Err, kv.ErrLost):
				w.found.Said++
			case r.Err != nil || string(r.Value) != keys[i]:
				w.found.Lost++
			}
			drops = append(drops, kv.OpDelete(keys[i]))
		}
		// they only take up memory
		_ = w.store.Do(context.Background(), drops)
	}
	return nil
}
