package boltkv

import (
	"hash/maphash"
	"sync/atomic"
)

// filter knows of most keys that the tree lacks that it lacks them: it has a few bits of every
// key that has stood in the tree since the filter was begun, all in one line of the processor's
// cache. A scrub, which meets all keys of the tree, fills it, and the mover adds what it brings
// there, so only the mover's goroutine adds. What is removed leaves its bits behind, until the
// filter is worn and another one is made.
type filter struct {
	seed  maphash.Seed
	lines []filterLine
	room  int64        // for keys
	keys  atomic.Int64 // about as many as were added
}

type filterLine [8]atomic.Uint64

const (
	bitsOfKey = 6
	lineBits  = 512
	keyBits   = 12 // of the filter, for each key that it has room for
)

// newFilter returns a filter for a tree of so many keys, with room for more; nil if it would
// take too many bytes.
func (l *limits) newFilter(keys uint64) *filter {
	room := keys + keys/2 + l.spare
	if room > l.filter*8/keyBits {
		return nil
	}
	return &filter{seed: maphash.MakeSeed(), lines: make([]filterLine, room*keyBits/lineBits+1), room: int64(room)}
}

// each calls f with the words and bits that stand for a key with the hash h until f returns
// false.
func (f *filter) each(h uint64, do func(word *atomic.Uint64, bit uint64) bool) {
	line := &f.lines[(h>>32)*uint64(len(f.lines))>>32]
	for range bitsOfKey {
		h = h*0x9e3779b97f4a7c15 + 1
		if !do(&line[h>>61], 1<<(h>>55&63)) {
			return
		}
	}
}

// add adds a key. The filter may be nil.
func (f *filter) add(key []byte) {
	if f != nil {
		f.addHash(maphash.Bytes(f.seed, key))
	}
}

func (f *filter) addHash(h uint64) {
	grown := false
	f.each(h, func(word *atomic.Uint64, bit uint64) bool {
		grown = word.Or(bit)&bit == 0 || grown
		return true
	})
	if grown {
		f.keys.Add(1)
	}
}

// addTable adds the keys of t that hold something. The filter may be nil.
func (f *filter) addTable(t *table) {
	if f == nil {
		return
	}
	for key, buf := range t.items {
		if buf != nil {
			f.addHash(maphash.String(f.seed, key))
		}
	}
}

// lacks reports whether the tree certainly lacks key. The filter may be nil.
func (f *filter) lacks(key string) bool {
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

// isWorn reports whether so many keys were added that the filter knows of fewer and fewer.
func (f *filter) isWorn() bool { return f != nil && f.keys.Load() > f.room }
