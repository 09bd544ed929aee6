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
