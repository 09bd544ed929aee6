package boltkv

import "github.com/ringtree/ringtree/internal/bloom"

// newFilter returns nil if the filter would take too many bytes. A scrub fills it, and the mover
// adds keys. Removed keys leave their bits until the full filter is replaced.
func (l *limits) newFilter(keys uint64) *bloom.Filter {
	room := keys + keys/2 + l.spare
	if room > uint64(bloom.Room(int(l.filter))) {
		return nil
	}
	return bloom.New(int(room))
}

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
