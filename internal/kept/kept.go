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

// shard is the keys with some hashes. What was not asked for since young was last full is
// dropped when it is full again.
type shard struct {
	mu         sync.Mutex
	young, old map[string]*Item
	size       int // bytes of young
	limit      int // of size
	drops      [1 << 8]uint32
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
const itemBytes = 224

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
		// The old map may be as large as the young one.
		c.shards[i].limit = bytes / 2 / shards
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
	it := s.young[key]
	if it == nil {
		if it = s.old[key]; it != nil {
			s.put(key, it)
		}
	}
	return it
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
	if s.young[key] == it {
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
	if it := s.young[key]; it != nil {
		return it
	}
	return s.old[key]
}

// put puts it into the young map. The caller holds the lock.
func (s *shard) put(key string, it *Item) {
	size := it.size(key)
	if size > s.limit {
		s.remove(key)
		return
	}
	if was := s.young[key]; was != nil {
		size -= was.size(key)
	} else {
		key = strings.Clone(key) // It may be a part of something larger.
	}
	if s.young == nil || s.size+size > s.limit {
		s.young, s.old, s.size = make(map[string]*Item), s.young, 0
		size = it.size(key)
	}
	s.young[key] = it
	s.size += size
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

// remove removes key from both maps. The caller holds the lock.
func (s *shard) remove(key string) {
	if it := s.young[key]; it != nil {
		s.size -= it.size(key)
		delete(s.young, key)
	}
	delete(s.old, key)
}

// Empty forgets everything.
func (c *Cache) Empty() {
	c.epoch.Add(1)
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.young, s.old, s.size = nil, nil, 0
		s.mu.Unlock()
	}
}
