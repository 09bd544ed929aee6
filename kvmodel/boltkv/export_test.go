package boltkv

import (
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
