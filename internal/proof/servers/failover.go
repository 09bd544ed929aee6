package servers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Outage is the outage that callers saw when a master died.
type Outage struct {
	Back        time.Duration // from the kill until all slots accepted a write again
	Calls       int           // calls from before the kill until then
	Unavailable int           // calls that ended in ErrUnavailable
	Unclear     int           // calls that ended in ErrUnclear
	Other       int           // calls that ended in any other error
	Late        int           // calls that ended more than a second past their deadline
	Latest      time.Duration // the longest time a call took past its deadline
}

// callTime is the time limit of each call of the load.
const callTime = time.Second

// KillMaster ends the first master with kill -9 while 16 clients of store work on keys of all
// slots, and returns the outage they saw. It fails if the cluster does not accept writes again
// within limit.
func (c *Cluster) KillMaster(store kv.Store, limit time.Duration) (Outage, error) {
	masters := c.Masters()
	if len(masters) == 0 {
		return Outage{}, errors.New("the Redis Cluster has no master")
	}
	l := &load{store: store}
	end := busy(func(client, n int) { l.call(fmt.Sprintf("load:%d:%d", client, n%100)) })
	time.Sleep(callTime / 4)
	killed := time.Now()
	c.Kill(masters[0])
	err := awaitWrites(store, limit)
	l.outage.Back = time.Since(killed)
	end()
	return l.outage, err
}

// awaitWrites waits until one trip has written to keys on all masters.
func awaitWrites(store kv.Store, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var err error
	for ctx.Err() == nil {
		var ops []kv.Op
		for i := range 64 {
			ops = append(ops, kv.OpSet(fmt.Sprintf("failover:%d", i), nil))
		}
		try, done := context.WithTimeout(ctx, callTime)
		err = store.Do(try, ops)
		done()
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("no service within %v after a master died: %w", limit, err)
}

// busy calls f as each of 16 clients, with n from 0, until end is called.
func busy(f func(client, n int)) (end func()) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for client := range 16 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					f(client, n)
				}
			}
		})
	}
	return func() { close(stop); wg.Wait() }
}

type load struct {
	store kv.Store

	mu     sync.Mutex
	outage Outage
}

// call writes and reads a key, and counts the result.
func (l *load) call(key string) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	deadline, _ := ctx.Deadline()
	err := l.store.Do(ctx, []kv.Op{kv.OpSet(key, nil), kv.OpGet(key)})
	late := time.Since(deadline)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.outage.Calls++
	l.outage.Latest = max(l.outage.Latest, late)
	if late > time.Second {
		l.outage.Late++
	}
	switch {
	case err == nil:
	case errors.Is(err, kv.ErrUnavailable):
		l.outage.Unavailable++
	case errors.Is(err, kv.ErrUnclear):
		l.outage.Unclear++
	default:
		l.outage.Other++
	}
}
