package rediskv

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

const (
	// tickEvery is how often the servers are asked whether they have told all changes.
	tickEvery = 250 * time.Millisecond

	// tickLasts is for how long an answer to that counts.
	tickLasts = time.Second
)

// changes tells what the servers say has changed. They say so on the connection on which
// they answer gets, after what was read before the change and before what is read after
// it. So once a later request is answered there, all earlier changes were told. When the
// connection breaks, any key may have changed.
type changes struct {
	store *Store

	mu    sync.Mutex
	tells []func(keys []string)

	ticked atomic.Int64 // when the last tick began that all servers have answered

	announced atomic.Pointer[announcements] // nil: nobody has asked for them
}

// Tell makes f be called with what has changed.
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

// Current reports whether all servers have answered a moment ago.
func (c *changes) Current() bool { return time.Now().UnixNano()-c.ticked.Load() < int64(tickLasts) }

// hear is called by the client when a server says that keys have changed, and with nil
// when a connection has broken or all keys of a server are gone.
func (c *changes) hear(messages []rueidis.RedisMessage) { c.tell(keysIn(messages)) }

// keysIn returns the keys that messages name, nil for any.
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

// tick looks at the servers' boot items. If one does not answer or its item is not as it
// was, any key may have changed.
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
