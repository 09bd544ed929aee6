// Package bloom is a Bloom filter of keys that uses a single cache line per key.
package bloom

import (
	"hash/maphash"
	"sync/atomic"
)

// Filter recognizes most keys that were never added. It is safe for concurrent use. A nil Filter
// contains everything.
type Filter struct {
	seed  maphash.Seed
	lines []line
	room  int64        // in keys
	keys  atomic.Int64 // approximate
}

type line [8]atomic.Uint64

const (
	bitsOfKey = 6
	lineBits  = 512
	keyBits   = 12 // of capacity
)

func New(room int) *Filter {
	return &Filter{seed: maphash.MakeSeed(), lines: make([]line, room*keyBits/lineBits+1), room: int64(room)}
}

func Room(bytes int) int { return bytes * 8 / keyBits }

func (f *Filter) Add(key []byte) {
	if f != nil {
		f.add(maphash.Bytes(f.seed, key))
	}
}

func (f *Filter) AddText(key string) {
	if f != nil {
		f.add(maphash.String(f.seed, key))
	}
}

func (f *Filter) add(h uint64) {
	grown := false
	f.each(h, func(word *atomic.Uint64, bit uint64) bool {
		grown = word.Or(bit)&bit == 0 || grown
		return true
	})
	if grown {
		f.keys.Add(1)
	}
}

// Lacks reports whether key was certainly never added.
func (f *Filter) Lacks(key string) bool {
	if f == nil {
		return false
	}
	lacks := false
	f.each(maphash.String(f.seed, key), func(word *atomic.Uint64, bit uint64) bool {
		lacks = word.Load()&bit == 0
		return !lacks
	})
	return lacks
}

func (f *Filter) each(h uint64, do func(word *atomic.Uint64, bit uint64) bool) {
	line := &f.lines[(h>>32)*uint64(len(f.lines))>>32]
	for range bitsOfKey {
		h = h*0x9e3779b97f4a7c15 + 1
		if !do(&line[h>>61], 1<<(h>>55&63)) {
			return
		}
	}
}

// IsFull reports whether more keys were added than fit, so that Lacks recognizes fewer.
func (f *Filter) IsFull() bool { return f != nil && f.keys.Load() > f.room }
