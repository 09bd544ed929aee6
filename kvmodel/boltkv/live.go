package boltkv

import (
	"bytes"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// base is what a batch sees besides its own changes: what the commits have done that the
// tree may lack, and the tree. It is the same however long the batch takes, though what is
// in moving comes to the tree meanwhile.
type base struct {
	*Store
	filling, moving *table
}

// look returns what can be seen now.
func (s *Store) look() base {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return base{s, s.filling, s.moving}
}

// get returns what key holds, also if it has expired.
func (b *base) get(key string) (item, bool) {
	for _, t := range []*table{b.filling, b.moving} {
		if buf, ok := t.get(key); ok {
			return held(key, buf)
		}
	}
	return b.fromTree(key)
}

// fromTree returns what the tree has under key. No transaction stays open: the mover waits
// for them when the file grows, and who has a turn may read the store besides.
func (s *Store) fromTree(key string) (it item, ok bool) {
	err := s.db.View(func(tx *bolt.Tx) error {
		it, ok = s.tree(tx).get([]byte(key))
		it.value = bytes.Clone(it.value)
		return nil
	})
	if err != nil {
		return item{damaged: err}, true
	}
	return it, ok
}

// held returns the item that a table holds under key.
func held(key string, buf []byte) (item, bool) {
	if buf == nil {
		return item{}, false
	}
	return decode([]byte(key), buf, 0), true
}

// live is the space of the items as they will be when the batch under way is committed.
type live struct {
	base
	changes map[string][]byte // as in a table
	bytes   int               // of values put
}

// get returns what key holds unless it has expired.
func (l *live) get(key string) (item, bool) {
	it, ok := item{}, false
	if buf, changed := l.changes[key]; changed {
		it, ok = held(key, buf)
	} else {
		it, ok = l.base.get(key)
	}
	if it.expires != 0 && it.expires <= l.now() {
		return item{}, false
	}
	return it, ok
}

func (l *live) put(key string, it item) {
	it.version = l.nextVersion()
	l.place(key, it)
}

func (l *live) nextVersion() kv.Version {
	l.version++
	return kv.Version(l.version)
}

// place stores it under key as it is.
func (l *live) place(key string, it item) {
	l.changes[key] = it.encode(key)
	l.bytes += len(it.value)
}

func (l *live) drop(key string) { l.changes[key] = nil }
