package rediskv

import (
	"context"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// announcements are the keys that anyone writes, as a server tells them on a connection of
// their own, in no order with what it answers on the other one.
type announcements struct {
	client rueidis.Client
	breaks atomic.Int64 // how often it was lost; some keys may have been missed each time
	ticked atomic.Int64 // breaks, and one more, when the server has last answered on it; 0: not yet
}

// Announce makes f be called with the keys that anyone writes. The servers of a cluster, of
// which each tells its own, are not asked.
func (c *changes) Announce(f func(keys []string)) bool {
	s := c.store
	if s.cluster {
		return false
	}
	a := new(announcements)
	option := s.clientOption()
	option.ClientTrackingOptions = []string{"BCAST"}
	option.OnInvalidations = func(messages []rueidis.RedisMessage) {
		keys := keysIn(messages)
		if keys == nil {
			a.breaks.Add(1)
		}
		f(keys)
	}
	client, err := rueidis.NewClient(option)
	if err != nil {
		return false
	}
	a.client = client
	if !c.announced.CompareAndSwap(nil, a) {
		client.Close()
		return false
	}
	a.tick(context.Background())
	return true
}

// Announcing reports whether all keys were announced that were written up to a moment ago.
func (c *changes) Announcing() bool {
	a := c.announced.Load()
	return a != nil && a.ticked.Load() == a.breaks.Load()+1 && c.Current()
}

// tick asks the server whether it has announced everything, and connects to it if it must.
func (a *announcements) tick(ctx context.Context) {
	breaks := a.breaks.Load()
	if err := a.client.Do(ctx, a.client.B().Ping().Build()).Error(); err != nil {
		a.ticked.Store(0)
		return
	}
	a.ticked.Store(breaks + 1)
}

// close closes the connection.
func (a *announcements) close() {
	if a != nil {
		a.client.Close()
	}
}
