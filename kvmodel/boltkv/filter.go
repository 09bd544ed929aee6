package boltkv

import "github.com/ringtree/ringtree/internal/bloom"

// newFilter returns a filter for a tree of so many keys, with room for more; nil if it would
// take too many bytes. It knows of most keys that the tree lacks that it lacks them. A scrub,
// which meets all keys of the tree, fills it, and the mover adds what it brings there, so only
// the mover's goroutine adds. What is removed leaves its bits behind, until the filter is full
// and another one is made.
func (l *limits) newFilter(keys uint64) *bloom.Filter {
	room := keys + keys/2 + l.spare
	if room > uint64(bloom.Room(int(l.filter))) {
		return nil
	}
	return bloom.New(int(room))
}

// addTable adds the keys of t that hold something to f, which may be nil.
func addTable(f *bloom.Filter, t *table) {
	if f == nil {
		return
	}
	for key, buf := range t.items {
		if buf != nil {
			f.AddText(key)
		}
	}
}
