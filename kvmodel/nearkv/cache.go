package nearkv

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// cache holds what was read under some keys. What comes late from a trip is kept only if
// nothing was dropped since the trip began: a stamp from before the trip tells.
type cache struct {
	epoch  atomic.Uint64 // how often all was dropped
	shards [shards]shard
}

const shards = 32

// shard is the keys with some hashes. What was not asked for since young was last full is
// dropped when it is full again.
type shard struct {
	mu         sync.Mutex
	young, old map[string]item
	size       int // bytes of young
	limit      int // of size
	drops      [1 << 8]uint32
}

// item is what a get has answered: a value, or that there is none.
type item struct {
	value   []byte
	version kv.Version // 0: there is none
	asked   time.Time  // when the trip began
	read    time.Time  // when it had ended
}

// itemBytes is about what an item takes besides its key and its value.
const itemBytes = 128

func (it item) size(key string) int { return itemBytes + len(key) + len(it.value) }

// stamp stands for what had been dropped at some time.
type stamp struct {
	epoch uint64
	drops uint32
}

func newCache(bytes int) *cache {
	c := new(cache)
	for i := range c.shards {
		// The old map may be as large as the young one.
		c.shards[i].limit = bytes / 2 / shards
	}
	return c
}

// of returns the shard of key, and which of its counters counts key's drops.
func (c *cache) of(key string) (s *shard, drops *uint32) {
	hash := hashOf(key)
	s = &c.shards[hash%shards]
	return s, &s.drops[hash/shards%uint64(len(s.drops))]
}

// hashOf is the 64-bit hash FNV-1a. Who chooses keys that hash alike makes them share a
// lock, and nothing worse.
func hashOf(key string) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(key) {
		hash = (hash ^ uint64(key[i])) * 1099511628211
	}
	return hash
}

// stamp returns what keep takes to know whether key was dropped since.
func (c *cache) stamp(key string) stamp {
	s, drops := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	return stamp{c.epoch.Load(), *drops}
}

// get returns what is kept under key.
func (c *cache) get(key string) (item, bool) {
	s, _ := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	it, ok := s.young[key]
	if !ok {
		if it, ok = s.old[key]; ok {
			s.put(key, it)
		}
	}
	return it, ok
}

// keep keeps what a trip has read under key, unless that was dropped since before. Of two
// different items that were read at the same time no one knows which is the newer.
func (c *cache) keep(key string, it item, before stamp) {
	s, drops := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if before != (stamp{c.epoch.Load(), *drops}) {
		return
	}
	if was, ok := s.find(key); ok && was.version != it.version && !it.asked.After(was.read) {
		*drops++
		s.remove(key)
		return
	}
	s.put(key, it)
}

// find returns what is kept under key. The caller holds the lock.
func (s *shard) find(key string) (item, bool) {
	it, ok := s.young[key]
	if !ok {
		it, ok = s.old[key]
	}
	return it, ok
}

// put puts it into the young map. The caller holds the lock.
func (s *shard) put(key string, it item) {
	size := it.size(key)
	if size > s.limit {
		return
	}
	if was, ok := s.young[key]; ok {
		size -= was.size(key)
	}
	if s.young == nil || s.size+size > s.limit {
		s.young, s.old, s.size = make(map[string]item), s.young, 0
		size = it.size(key)
	}
	s.young[key] = it
	s.size += size
}

// drop forgets what is kept under key and what trips under way read there.
func (c *cache) drop(key string) {
	s, drops := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	*drops++
	s.remove(key)
}

// dropOthers is drop unless what is kept under key has the version.
func (c *cache) dropOthers(key string, version kv.Version) {
	s, drops := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if it, ok := s.find(key); !ok || it.version != version {
		*drops++
		s.remove(key)
	}
}

// remove removes key from both maps. The caller holds the lock.
func (s *shard) remove(key string) {
	if it, ok := s.young[key]; ok {
		s.size -= it.size(key)
		delete(s.young, key)
	}
	delete(s.old, key)
}

// empty forgets everything.
func (c *cache) empty() {
	c.epoch.Add(1)
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.young, s.old, s.size = nil, nil, 0
		s.mu.Unlock()
	}
}
