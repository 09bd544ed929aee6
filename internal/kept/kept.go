// Package kept is a cache of values and their decoded forms.
package kept

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Cache holds the results of reads. A result is kept only if the key was not dropped since the read
// began, according to a Stamp from before.
type Cache struct {
	seed   maphash.Seed
	epoch  atomic.Uint64
	shards [shards]shard
}

const shards = 64

// shard has the keys with some hashes. A get takes no lock. If the shard is full, a hand goes
// around the slots and drops those not used since its last visit.
type shard struct {
	table atomic.Pointer[table]
	drops [1 << 8]uint32 // also separates changing fields from those that each get reads

	mu    sync.Mutex // needed for changes
	n     int        // slots
	hand  int
	size  int
	limit int
}

// table finds slots. Its length is a power of two, and at most five eighths of it are used.
type table []place

// place has the hash of its slot beside it, for the processor's cache. The search for a hash begins
// at its home and ends at a free place.
type place struct {
	hash atomic.Uint64 // 0: free
	slot atomic.Pointer[slot]
}

func (p *place) set(at *slot) {
	p.slot.Store(at)
	p.hash.Store(at.hash)
}

func (p *place) free() {
	p.hash.Store(0)
	p.slot.Store(nil)
}

// slot is a key with its item. The fields that a get reads come first, for the processor's cache.
type slot struct {
	asked atomic.Bool // since the last visit of the hand
	n     uint8       // bytes of short; 0: the key is long
	short [54]byte
	Item
	hash uint64
	long string
}

func (at *slot) is(key string) bool {
	if at.n > 0 {
		return string(at.short[:at.n]) == key
	}
	return at.long == key
}

func newSlot(key string, hash uint64, it *Item) *slot {
	at := &slot{Item: *it, hash: hash}
	if len(key) <= len(at.short) {
		at.n = uint8(copy(at.short[:], key))
	} else {
		at.long = strings.Clone(key) // The key may be a part of a larger string.
	}
	return at
}

// Item is the result of a get: a value, or its absence. It is immutable.
type Item struct {
	Decoded any        // nil: no get had a Decoder
	Version kv.Version // 0: absent
	Ends    int64      // nanoseconds since 1970; 0: never, or the store decides
	Value   []byte
	Bytes   int // of Decoded

	Asked, Read int64 // start and end of the read, for DropOthers and Keep; 0: irrelevant
}

const slotBytes = int(unsafe.Sizeof(slot{})) + 6*8

func (at *slot) size() int { return slotBytes + len(at.long) + len(at.Value) + at.Bytes }

func (it *Item) Result() kv.Result {
	if it.Version == 0 {
		return kv.Result{Err: kv.ErrNotFound}
	}
	return kv.Result{Value: it.Value, Decoded: it.Decoded, Version: it.Version}
}

func (it *Item) HasEnded(now int64) bool { return it.Ends != 0 && it.Ends <= now }

func (it *Item) Decode(d kv.Decoder) {
	if d == nil || it.Version == 0 {
		return
	}
	if v, bytes, err := d(it.Value); err == nil {
		it.Decoded, it.Bytes = v, bytes
	}
}

type Stamp struct {
	epoch uint64
	drops uint32
}

func New(bytes int) *Cache {
	c := &Cache{seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].limit = bytes / shards
	}
	return c
}

func (c *Cache) of(key string) (*shard, uint64) {
	hash := maphash.String(c.seed, key)
	return &c.shards[hash%shards], hash/shards | 1<<63
}

func (s *shard) dropsOf(hash uint64) *uint32 { return &s.drops[hash%uint64(len(s.drops))] }

func (c *Cache) Stamp(key string) Stamp {
	s, hash := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stamp{c.epoch.Load(), *s.dropsOf(hash)}
}

func (c *Cache) Get(key string) *Item {
	s, hash := c.of(key)
	return s.find(key, hash).use()
}

func (at *slot) use() *Item {
	if at == nil {
		return nil
	}
	if !at.asked.Load() {
		at.asked.Store(true)
	}
	return &at.Item
}

// GetEach calls f with the item that Get returns for each key, until f returns false, and reports
// whether it never did.
func (c *Cache) GetEach(gets []kv.NearGet, f func(i int, it *Item) bool) bool {
	var found [abreast]*Item
	for begin := 0; begin < len(gets); begin += abreast {
		some := gets[begin:min(begin+abreast, len(gets))]
		if len(some) < few {
			for i := range some {
				found[i] = c.Get(some[i].Key)
			}
		} else {
			c.getAbreast(some, &found)
		}
		for i := range some {
			if !f(begin+i, found[i]) {
				return false
			}
		}
	}
	return true
}

const (
	few     = 4
	abreast = 32
)

// The loops of getAbreast are so short that the processor waits for the memory of several keys at a
// time.
func (c *Cache) getAbreast(gets []kv.NearGet, found *[abreast]*Item) {
	var places [abreast]struct {
		*shard
		hash uint64
		*slot
	}
	for i := range gets {
		places[i].shard, places[i].hash = c.of(gets[i].Key)
	}
	for i := range gets {
		places[i].slot, _, _ = places[i].first(places[i].hash)
	}
	for i := range gets {
		places[i].use()
	}
	for i := range gets {
		p := &places[i]
		if p.slot != nil && !p.is(gets[i].Key) {
			p.slot = p.find(gets[i].Key, p.hash)
		}
		found[i] = p.slot.use()
	}
}

// Decoded returns it, from Get for key, decoded, and caches that.
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

// Keep stores the result of a read of key, unless key was dropped since before. If two concurrent
// reads differ, it keeps neither.
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

func (c *Cache) KeepAnswer(op *kv.Op, it *Item, before Stamp) {
	it.Decode(op.Decode)
	op.Result.Decoded = it.Decoded
	c.Keep(op.Key, it, before)
}

// Without mu, find and first may return nil for a key whose place is changing.
func (s *shard) find(key string, hash uint64) *slot {
	at, t, i := s.first(hash)
	for at != nil && !at.is(key) {
		at, i = t.from(t.next(i), hash)
	}
	return at
}

// first returns the first slot with hash, without touching it, and its place.
func (s *shard) first(hash uint64) (at *slot, t table, i int) {
	if all := s.table.Load(); all != nil {
		t = *all
		at, i = t.from(t.home(hash), hash)
	}
	return at, t, i
}

// from returns the first slot with hash from place i on, and its place.
func (t table) from(i int, hash uint64) (*slot, int) {
	for ; ; i = t.next(i) {
		switch t[i].hash.Load() {
		case 0:
			return nil, i
		case hash:
			if at := t[i].slot.Load(); at != nil {
				return at, i
			}
		}
	}
}

func (t table) home(hash uint64) int { return int(hash) & (len(t) - 1) }

func (t table) next(i int) int { return (i + 1) & (len(t) - 1) }

// The caller of put holds mu.
func (s *shard) put(key string, hash uint64, it *Item) {
	s.remove(s.find(key, hash))
	at := newSlot(key, hash, it)
	size := at.size()
	if size > s.limit {
		return
	}
	for s.size+size > s.limit {
		s.turn()
	}
	if t := s.table.Load(); t == nil || 8*s.n >= 5*len(*t) {
		s.grow()
	}
	s.table.Load().put(at)
	s.n++
	s.size += size
}

func (s *shard) grow() {
	var old table
	if t := s.table.Load(); t != nil {
		old = *t
	}
	more := make(table, max(16, 2*len(old)))
	for i := range old {
		if at := old[i].slot.Load(); at != nil {
			more.put(at)
		}
	}
	s.table.Store(&more)
}

func (t table) put(at *slot) {
	i := t.home(at.hash)
	for t[i].hash.Load() != 0 {
		i = t.next(i)
	}
	t[i].set(at)
}

func (s *shard) turn() {
	t := *s.table.Load()
	s.hand = t.next(s.hand)
	if at := t[s.hand].slot.Load(); at != nil && !at.asked.Swap(false) {
		s.remove(at)
	}
}

// Drop removes the item of key, and prevents reads in progress from being kept.
func (c *Cache) Drop(key string) {
	s, hash := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(s.find(key, hash), hash)
}

// DropOthers is Drop unless the item of key has the version.
func (c *Cache) DropOthers(key string, version kv.Version) {
	s, hash := c.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.find(key, hash); at == nil || at.Version != version {
		s.drop(at, hash)
	}
}

// at may be nil. The caller of drop holds mu.
func (s *shard) drop(at *slot, hash uint64) {
	*s.dropsOf(hash)++
	s.remove(at)
}

func (s *shard) remove(at *slot) {
	if at == nil {
		return
	}
	s.table.Load().remove(at)
	s.n--
	s.size -= at.size()
}

// remove frees the place of a slot, and moves those behind it nearer to their homes.
func (t table) remove(at *slot) {
	gap := t.home(at.hash)
	for t[gap].slot.Load() != at {
		gap = t.next(gap)
	}
	for i := t.next(gap); ; i = t.next(i) {
		next := t[i].slot.Load()
		if next == nil {
			break
		}
		if mask := len(t) - 1; (i-t.home(next.hash))&mask >= (i-gap)&mask {
			t[gap].set(next)
			gap = i
		}
	}
	t[gap].free()
}

func (c *Cache) Empty() {
	c.epoch.Add(1)
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.table.Store(nil)
		s.n, s.hand, s.size = 0, 0, 0
		s.mu.Unlock()
	}
}
