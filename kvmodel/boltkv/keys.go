package boltkv

import (
	"bytes"
	"context"

	bolt "go.etcd.io/bbolt"
)

// keysAtOnce is how many keys are listed in one transaction.
const keysAtOnce = 1000

// keys is the power of that name. Expired items are among them until they are swept.
func (s *Store) keys(ctx context.Context, begin string, f func([]string) error) error {
	for from := []byte(begin); ; {
		found, fail := s.keysFrom(ctx, from, []byte(begin))
		if fail != nil {
			return fail
		}
		if len(found) == 0 {
			return nil
		}
		if err := f(found); err != nil {
			return err
		}
		from = append([]byte(found[len(found)-1]), 0)
	}
}

// keysFrom returns the first keys from from on that begin with begin.
func (s *Store) keysFrom(ctx context.Context, from, begin []byte) (found []string, fail *failure) {
	if err := ctx.Err(); err != nil {
		return nil, unavailable(err)
	}
	if fail := s.failed.Load(); fail != nil {
		return nil, fail
	}
	fail = s.try(func() error {
		return s.db.View(func(tx *bolt.Tx) error {
			c := tx.Bucket(itemsBucket).Cursor()
			for key, _ := c.Seek(from); bytes.HasPrefix(key, begin) && key != nil && len(found) < keysAtOnce; key, _ = c.Next() {
				found = append(found, string(key))
			}
			return nil
		})
	})
	return found, fail
}
