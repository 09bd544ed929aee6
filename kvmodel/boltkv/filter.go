package boltkv

import "github.com/ringtree/ringtree/internal/bloom"

// newFilter returns a filter for a tree of that many keys, with room for more, or nil if it would
// take too many bytes. The filter recognizes most keys that the tree lacks. A scrub fills it, as it
// reads all keys of the tree, and the mover adds the keys it moves, so only the mover's goroutine
// adds. Removed keys leave their bits behind, until the filter is full and replaced.
func (l *limits) newFilter(keys uint64) *bloom.Filter {
	room := keys + keys/2 + l.spare
	if room > uint64(bloom.Room(int(l.filter))) {
		return nil
	}
	return bloom.New(int(room))
}

// addTable adds the keys with items in t to f, which may be nil.
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
