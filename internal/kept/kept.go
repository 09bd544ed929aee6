// Package kept is a cache of values and their decoded forms.
package kept

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Cache holds what was read under some keys. What comes late from a read is kept only if
// the key was not dropped since the read began: a Stamp from before the read tells.
type Cache struct {
	seed   maphash.Seed
	epoch  atomic.Uint64 // how often all was dropped
	shards [shards]shard
}

const shards = 64

// shard is the keys with some hashes. When it is full, a hand goes around and drops what was
// not asked for since it last came by.
type shard struct {
	mu    sync.Mutex
	slots map[string]*slot
	ring  []*slot // all slots, in the order in which the hand comes by
	hand  int
	size  int // bytes of all
	limit int // of size
	drops [1 << 8]uint32
}

// slot is a key with what is kept under it.
type slot struct {
	key   string
	item  *Item
	at    int  // in the ring
	asked bool // since the hand last came by
}

// Item is what a get has answered: a value, or that there is none. It never changes.
type Item struct {
	Value   []byte
	Decoded any        // of Value; nil: no get had a Decoder
	Bytes   int        // of Decoded, besides Value
	Version kv.Version // 0: there is none
	Ends    int64      // when the item expires, in nanoseconds since 1970; 0: never, or the store tells

	Asked, Read int64 // when the read began and ended, for DropOthers and Keep; 0: it does not matter
}

// itemBytes is about the size of an item without its key, its value and the decoded form.
const itemBytes = 192

func (it *Item) size(key string) int { return itemBytes + len(key) + len(it.Value) + it.Bytes }

// Result returns it as the answer to a get.
func (it *Item) Result() kv.Result {
	if it.Version == 0 {
		return kv.Result{Err: kv.ErrNotFound}
	}
	return kv.Result{Value: it.Value, Decoded: it.Decoded, Version: it.Version}
}

// HasEnded reports whether it has expired at a time.
func (it *Item) HasEnded(now int64) bool { return it.Ends != 0 && it.Ends <= now }

// Decode decodes the value of it, which is new.
func (it *Item) Decode(d kv.Decoder) {
	if d == nil || it.Version == 0 {
		return
	}
	if v, bytes, err := d(it.Value); err == nil {
		it.Decoded, it.Bytes = v, bytes
	}
}

// Stamp stands for what had been dropped at some time.
type Stamp struct {
	epoch uint64
	drops uint32
}

// New returns a cache of so many bytes.
func New(bytes int) *Cache {
	c := &Cache{seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].limit = bytes / shards
	}
	return c
}

// of returns the shard of key, and which of its counters counts key's drops.
func (c *Cache) of(key string) (s *shard, drops *uint32) {
	hash := maphash.String(c.seed, key)
	s = &c.shards[hash%shards]
	return s, &s.drops[hash/shards%uint64(len(s.drops))]
}

// Stamp returns what Keep takes to know whether key was dropped since.
func (c *Cache) Stamp(key string) Stamp {
	s, drops := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stamp{c.epoch.Load(), *drops}
}

// Get returns what is kept under key; nil: nothing.
func (c *Cache) Get(key string) *Item {
	s, _ := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.slots[key]; at != nil {
		at.asked = true
		return at.item
	}
	return nil
}

// Decoded returns it, which Get has returned for key, with its decoded value, and keeps that.
func (c *Cache) Decoded(key string, it *Item, d kv.Decoder) *Item {
	if d == nil || it.Decoded != nil || it.Version == 0 {
		return it
	}
	more := *it
	more.Decode(d)
	s, _ := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.find(key) == it {
		s.put(key, &more)
	}
	return &more
}

// Keep keeps what was read under key, unless that was dropped since before. Of two
// different items that were read at the same time no one knows which is the newer.
func (c *Cache) Keep(key string, it *Item, before Stamp) {
	s, drops := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if before != (Stamp{c.epoch.Load(), *drops}) {
		return
	}
	if was := s.find(key); was != nil && was.Version != it.Version && it.Asked <= was.Read {
		*drops++
		s.remove(key)
		return
	}
	s.put(key, it)
}

// KeepAnswer is Keep for the answer of the get op, which it decodes first, for op as well.
func (c *Cache) KeepAnswer(op *kv.Op, it *Item, before Stamp) {
	it.Decode(op.Decode)
	op.Result.Decoded = it.Decoded
	c.Keep(op.Key, it, before)
}

// find returns what is kept under key. The caller holds the lock.
func (s *shard) find(key string) *Item {
	if at := s.slots[key]; at != nil {
		return at.item
	}
	return nil
}

// put keeps it under key, and drops others if there is no room. The caller holds the lock.
func (s *shard) put(key string, it *Item) {
	s.remove(key)
	size := it.size(key)
	if size > s.limit {
		return
	}
	for s.size+size > s.limit {
		s.turn()
	}
	if s.slots == nil {
		s.slots = make(map[string]*slot)
	}
	at := &slot{key: strings.Clone(key), item: it, at: len(s.ring)} // The key may be a part of something larger.
	s.slots[at.key] = at
	s.ring = append(s.ring, at)
	s.size += size
}

// turn moves the hand on, which drops what it comes to unless that was asked for.
func (s *shard) turn() {
	s.hand %= len(s.ring)
	at := s.ring[s.hand]
	if s.hand++; at.asked {
		at.asked = false
		return
	}
	s.remove(at.key)
}

// Drop forgets what is kept under key and what is being read there.
func (c *Cache) Drop(key string) {
	s, drops := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	*drops++
	s.remove(key)
}

// DropOthers is Drop unless what is kept under key has the version.
func (c *Cache) DropOthers(key string, version kv.Version) {
	s, drops := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if it := s.find(key); it == nil || it.Version != version {
		*drops++
		s.remove(key)
	}
}

// remove drops what is kept under key. The last of the ring takes its place there. The caller
// holds the lock.
func (s *shard) remove(key string) {
	at := s.slots[key]
	if at == nil {
		return
	}
	s.size -= at.item.size(key)
	delete(s.slots, key)
	last := len(s.ring) - 1
	s.ring[at.at] = s.ring[last]
	s.ring[at.at].at = at.at
	s.ring[last], s.ring = nil, s.ring[:last]
}

// Empty forgets everything.
func (c *Cache) Empty() {
	c.epoch.Add(1)
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.slots, s.ring, s.hand, s.size = nil, nil, 0, 0
		s.mu.Unlock()
	}
}
