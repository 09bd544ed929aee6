package rediskv

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// announcements are the keys written by any client, pushed on a connection of its own, in no order
// relative to answers on the main one.
type announcements struct {
	option rueidis.ClientOption
	client rueidis.Client
	breaks atomic.Int64 // how often it was lost; each time, keys may have been missed
	ticked atomic.Int64 // breaks+1 after the last answered tick; 0: none
}

// Announce makes f be called with the keys that anyone writes. It fails on a cluster, where each
// server announces its own.
func (c *changes) Announce(f func(keys []string)) bool {
	s := c.store
	if s.cluster {
		return false
	}
	a := &announcements{option: s.clientOption()}
	a.option.ClientTrackingOptions = []string{"BCAST"}
	a.option.OnInvalidations = func(messages []rueidis.RedisMessage) {
		keys := keysIn(messages)
		if keys == nil {
			a.breaks.Add(1)
		}
		f(keys)
	}
	if !c.announced.CompareAndSwap(nil, a) {
		return false
	}
	go func() {
		defer a.close()
		everyTick(s.senders.quit, a.tick)
	}()
	return true
}

// Announcing reports whether, up to a moment ago, no key was missed.
func (c *changes) Announcing() bool {
	a := c.announced.Load()
	return a != nil && a.ticked.Load() == a.breaks.Load()+1 && c.Current()
}

func (a *announcements) tick() {
	if a.client == nil {
		client, err := rueidis.NewClient(a.option)
		if err != nil {
			return
		}
		a.client = client
	}
	ctx, cancel := context.WithTimeout(context.Background(), tickLasts)
	defer cancel()
	breaks := a.breaks.Load()
	if err := a.client.Do(ctx, a.client.B().Ping().Build()).Error(); err != nil {
		a.ticked.Store(0)
		return
	}
	a.ticked.Store(breaks + 1)
}

func (a *announcements) close() {
	if a.client != nil {
		a.client.Close()
	}
}

func everyTick(quit <-chan struct{}, tick func()) {
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for {
		tick()
		select {
		case <-ticker.C:
		case <-quit:
			return
		}
	}
}
