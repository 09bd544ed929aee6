package boltkv

import (
	"crypto/rand"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
)

// OpenQuick opens a store that moves what it holds to the tree as soon as it rests, and
// counts the transactions of the tree.
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

// OpenFiltering is OpenQuick of a store whose filters have room for few keys. It counts the
// transactions that read the tree.
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

// Filter returns which filter the store asks: nil if there is none, and as long as one that
// is worn is asked.
func (s *Store) Filter() any {
	if f := s.filter.Load(); f != nil && !f.IsFull() {
		return f
	}
	return nil
}

// Rests reports whether all that can be moved to the tree is there.
func (s *Store) Rests() bool {
	carried := s.Stats().Carried
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.moving == nil && len(s.filling.items) <= int(carried)
}

// Noise returns n random bytes, which cannot be packed.
func Noise(n int) []byte {
	buf := make([]byte, n)
	_, _ = rand.Read(buf)
	return buf
}
