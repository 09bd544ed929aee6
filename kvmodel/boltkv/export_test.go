package boltkv

import (
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

// OpenQuick opens a store that moves its table as soon as it rests, and counts the transactions of
// the tree.
func OpenQuick(path string, opts Options, transactions *atomic.Int64) (*Store, error) {
	return openWith(path, opts, func(s *Store) {
		s.limits.idle, s.limits.tick = 0, 5*time.Millisecond
		s.limits.ship = 5 * time.Millisecond
		s.commitTree = func(tx *bolt.Tx) error {
			transactions.Add(1)
			return tx.Commit()
		}
	})
}

// OpenFiltering is OpenQuick of a store whose filters have room for few keys. It counts the read
// transactions of the tree.
func OpenFiltering(path string, opts Options, reads *atomic.Int64) (*Store, error) {
	return openWith(path, opts, func(s *Store) {
		s.limits.idle, s.limits.tick, s.limits.spare = 0, time.Millisecond, 10
		begin := s.beginRead
		s.beginRead = func() (*bolt.Tx, error) {
			reads.Add(1)
			return begin()
		}
	})
}

// Filter identifies the filter, or returns nil. It waits while a full one is in use.
func (s *Store) Filter() any {
	if f := s.filter.Load(); f != nil && !f.IsFull() {
		return f
	}
	return nil
}

// Rests reports whether the tree has all items that can be moved.
func (s *Store) Rests() bool {
	carried := s.Stats().Carried
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.moving == nil && len(s.filling.items) <= int(carried)
}
