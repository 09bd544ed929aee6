package rediskv

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

const (
	tickEvery = 250 * time.Millisecond

	tickLasts = time.Second
)

// changes reports the changes pushed by the servers. A server sends them on the connection of its
// answers to gets, after reads from before the change and before reads from after it. So the answer
// to a later request follows all earlier changes. When the connection breaks, any key may have
// changed.
type changes struct {
	store *Store

	mu    sync.Mutex
	tells []func(keys []string)

	ticked atomic.Int64 // start of the last tick that all servers answered

	announced atomic.Pointer[announcements]
}

func (c *changes) Tell(f func(keys []string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tells = append(c.tells, f)
}

func (c *changes) tell(keys []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.tells {
		f(keys)
	}
}

func (c *changes) Current() bool { return time.Now().UnixNano()-c.ticked.Load() < int64(tickLasts) }

// hear receives changed keys, or nil if a connection has broken or a server has removed all keys.
func (c *changes) hear(messages []rueidis.RedisMessage) { c.tell(keysIn(messages)) }

func keysIn(messages []rueidis.RedisMessage) []string {
	if messages == nil {
		return nil
	}
	keys := make([]string, len(messages))
	for i := range messages {
		key, err := messages[i].ToString()
		if err != nil {
			return nil
		}
		keys[i] = key
	}
	return keys
}

// tick checks the boot items. If a server does not answer or has another item, any key may have
// changed.
func (c *changes) tick() {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), tickLasts)
	defer cancel()
	s := c.store
	m, unknown := s.memory.Load(), map[int]error{}
	other := s.lookOnce(ctx, 1<<len(m.Names)-1, unknown)
	switch {
	case len(unknown) > 0:
		began = time.Unix(0, 0)
		c.tell(nil)
	case other != 0:
		m.Doubt()
		c.tell(nil)
	}
	c.ticked.Store(began.UnixNano())
}

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
