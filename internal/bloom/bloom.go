// Package bloom is a Bloom filter of keys, in which a key takes one line of the processor's
// cache.
package bloom

import (
	"hash/maphash"
	"sync/atomic"
)

// Filter says of most keys that were never added that they were not. Several goroutines may use
// it. A nil Filter holds everything.
type Filter struct {
	seed  maphash.Seed
	lines []line
	room  int64        // for keys
	keys  atomic.Int64 // about as many as were added
}

type line [8]atomic.Uint64

const (
	bitsOfKey = 6
	lineBits  = 512
	keyBits   = 12 // for each key that there is room for
)

// New returns a filter with room for so many keys.
func New(room int) *Filter {
	return &Filter{seed: maphash.MakeSeed(), lines: make([]line, room*keyBits/lineBits+1), room: int64(room)}
}

// Room returns for how many keys a filter of so many bytes has room.
func Room(bytes int) int { return bytes * 8 / keyBits }

// Add adds a key.
func (f *Filter) Add(key []byte) {
	if f != nil {
		f.add(maphash.Bytes(f.seed, key))
	}
}

// AddText is Add for a text.
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

// each calls do with the words and bits that stand for a key with the hash h until do returns
// false.
func (f *Filter) each(h uint64, do func(word *atomic.Uint64, bit uint64) bool) {
	line := &f.lines[(h>>32)*uint64(len(f.lines))>>32]
	for range bitsOfKey {
		h = h*0x9e3779b97f4a7c15 + 1
		if !do(&line[h>>61], 1<<(h>>55&63)) {
			return
		}
	}
}

// IsFull reports whether more keys were added than there is room for, so that it says of fewer
// and fewer that they were not.
func (f *Filter) IsFull() bool { return f != nil && f.keys.Load() > f.room }
