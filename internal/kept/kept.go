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
	table []*slot // chains of slots, by hash; as many as there are slots, or more
	ring  []*slot // all slots, in the order in which the hand comes by
	hand  int
	size  int // bytes of all
	limit int // of size
	drops [1 << 8]uint32
}

// slot is a key with what is kept under it. A read that finds it looks at little else.
type slot struct {
	Item
	key   string
	hash  uint64
	next  *slot // of the chain
	at    int   // in the ring
	asked bool  // since the hand last came by
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

// itemBytes is about the size of a slot with its places in the table and the ring, but without
// its key, its value and the decoded form.
const itemBytes = 176

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

// of returns the shard of key, and its hash.
func (c *Cache) of(key string) (*shard, uint64) {
	hash := maphash.String(c.seed, key)
	return &c.shards[hash%shards], hash / shards
}

// dropsOf returns which of the counters counts the drops of keys with a hash.
func (s *shard) dropsOf(hash uint64) *uint32 { return &s.drops[hash%uint64(len(s.drops))] }

// Stamp returns what Keep takes to know whether key was dropped since.
func (c *Cache) Stamp(key string) Stamp {
	s, hash := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stamp{c.epoch.Load(), *s.dropsOf(hash)}
}

// Get returns what is kept under key; nil: nothing.
func (c *Cache) Get(key string) *Item {
	s, hash := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.find(key, hash)
	if at == nil {
		return nil
	}
	at.asked = true
	return &at.Item
}

// Decoded returns it, which Get has returned for key, with its decoded value, and keeps that.
func (c *Cache) Decoded(key string, it *Item, d kv.Decoder) *Item {
	if d == nil || it.Decoded != nil || it.Version == 0 {
		return it
	}
	more := *it
	more.Decode(d)
	s, hash := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.find(key, hash); at != nil && &at.Item == it {
		s.put(key, hash, &more)
	}
	return &more
}

// Keep keeps what was read under key, unless that was dropped since before. Of two
// different items that were read at the same time no one knows which is the newer.
func (c *Cache) Keep(key string, it *Item, before Stamp) {
	s, hash := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if before != (Stamp{c.epoch.Load(), *s.dropsOf(hash)}) {
		return
	}
	if was := s.find(key, hash); was != nil && was.Version != it.Version && it.Asked <= was.Read {
		s.drop(was, hash)
		return
	}
	s.put(key, hash, it)
}

// KeepAnswer is Keep for the answer of the get op, which it decodes first, for op as well.
func (c *Cache) KeepAnswer(op *kv.Op, it *Item, before Stamp) {
	it.Decode(op.Decode)
	op.Result.Decoded = it.Decoded
	c.Keep(op.Key, it, before)
}

// find returns the slot of key, nil if there is none. The caller holds the lock.
func (s *shard) find(key string, hash uint64) *slot {
	if len(s.table) == 0 {
		return nil
	}
	at := *s.chain(hash)
	for at != nil && (at.hash != hash || at.key != key) {
		at = at.next
	}
	return at
}

// chain returns the chain for a hash.
func (s *shard) chain(hash uint64) **slot { return &s.table[hash&uint64(len(s.table)-1)] }

// put keeps it under key, and drops others if there is no room. The caller holds the lock.
func (s *shard) put(key string, hash uint64, it *Item) {
	s.remove(s.find(key, hash))
	size := it.size(key)
	if size > s.limit {
		return
	}
	for s.size+size > s.limit {
		s.turn()
	}
	// The key may be a part of something larger.
	s.add(&slot{Item: *it, key: strings.Clone(key), hash: hash, at: len(s.ring)})
	s.size += size
}

// add puts a slot at the end of the ring and into its chain.
func (s *shard) add(at *slot) {
	s.ring = append(s.ring, at)
	if len(s.ring) <= len(s.table) {
		s.link(at)
		return
	}
	s.table = make([]*slot, max(16, 2*len(s.table)))
	for _, each := range s.ring {
		s.link(each)
	}
}

// link puts a slot into its chain.
func (s *shard) link(at *slot) {
	chain := s.chain(at.hash)
	at.next, *chain = *chain, at
}

// turn moves the hand on, which drops what it comes to unless that was asked for.
func (s *shard) turn() {
	s.hand %= len(s.ring)
	at := s.ring[s.hand]
	if s.hand++; at.asked {
		at.asked = false
		return
	}
	s.remove(at)
}

// Drop removes the item of key, and keeps no read of it that is under way.
func (c *Cache) Drop(key string) {
	s, hash := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(s.find(key, hash), hash)
}

// DropOthers is Drop unless what is kept under key has the version.
func (c *Cache) DropOthers(key string, version kv.Version) {
	s, hash := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.find(key, hash); at == nil || at.Version != version {
		s.drop(at, hash)
	}
}

// drop removes a slot, unless it is nil, and keeps no read under way of keys with its hash. The
// caller holds the lock.
func (s *shard) drop(at *slot, hash uint64) {
	*s.dropsOf(hash)++
	s.remove(at)
}

// remove removes a slot, unless it is nil. The last of the ring takes its place there. The
// caller holds the lock.
func (s *shard) remove(at *slot) {
	if at == nil {
		return
	}
	chain := s.chain(at.hash)
	for *chain != at {
		chain = &(*chain).next
	}
	*chain, at.next = at.next, nil
	s.size -= at.size(at.key)
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
		s.table, s.ring, s.hand, s.size = nil, nil, 0, 0
		s.mu.Unlock()
	}
}
