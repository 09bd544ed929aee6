package boltkv_test

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// oldFile makes a file of format 1 with n items, every tenth of which expires at the time
// that ends says.
func oldFile(t *testing.T, n int, ends time.Time) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	db := must(bolt.Open(path, 0o600, nil))
	check(db.Update(func(tx *bolt.Tx) error {
		meta, items, expiry := must(tx.CreateBucket([]byte("ringtree"))), must(tx.CreateBucket([]byte("items"))), must(tx.CreateBucket([]byte("expiry")))
		check(meta.Put([]byte("format"), []byte("1")))
		for i := range n {
			expires := uint64(0)
			if i%10 == 0 {
				expires = uint64(ends.UnixNano())
				check(expiry.Put(append(binary.BigEndian.AppendUint64(nil, expires), benchKey(i)...), nil))
			}
			buf := binary.BigEndian.AppendUint64(nil, oldVersion(i))
			buf = binary.BigEndian.AppendUint64(buf, expires)
			check(items.Put([]byte(benchKey(i)), append(buf, fmt.Sprint("value ", i)...)))
		}
		return items.SetSequence(oldVersion(n))
	}))
	check(db.Close())
	return path
}

func oldVersion(i int) uint64 { return 1_700_000_000_000_000_000 + uint64(i) }

// withoutSums returns how many items of the closed file at path have no sums.
func withoutSums(path string) (n int) {
	db := must(bolt.Open(path, 0o600, nil))
	defer db.Close()
	check(db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("items")).ForEach(func(_, value []byte) error {
			if value[0] != 0xe4 {
				n++
			}
			return nil
		})
	}))
	return n
}

func TestOpen_FileOfFormat1IsServedAndItsItemsGetSums(t *testing.T) {
	clock := newClock()
	const n = 3500
	path := oldFile(t, n, clock.Now().Add(time.Hour))
	for round := range 2 {
		s, _ := quick(t, path, clock)
		if round == 0 {
			one(t, s, kv.OpSwap(benchKey(1), kv.Version(oldVersion(1)), []byte("value 1")))
			one(t, s, kv.OpAppend(benchKey(2), nil))
		}
		for i := range n {
			r := one(t, s, kv.OpGet(benchKey(i)))
			if want := fmt.Sprint("value ", i); string(r.Value) != want || i > 2 && uint64(r.Version) != oldVersion(i) {
				t.Fatalf("item %d is %q of version %d, want %q of version %d", i, r.Value, r.Version, want, oldVersion(i))
			}
		}
		until(t, s.IsUpgraded)
		check(s.Close())
		if left := withoutSums(path); left != 0 {
			t.Errorf("%d items have no sums", left)
		}
	}
	clock.Advance(time.Hour)
	s, _ := quick(t, path, clock)
	wantGone(t, s, benchKey(10))
	until(t, func() bool { return s.Stats().Swept == n/10 })
}

func TestOpen_FileOfFormat1IsUpgradedThoughItIsOpenedOften(t *testing.T) {
	path := oldFile(t, 1500, time.Now().Add(time.Hour))
	for range 5 {
		s := must(boltkv.Open(path, boltkv.Options{}))
		one(t, s, kv.OpGet(benchKey(1499)))
		check(s.Close())
	}
	s, _ := quick(t, path, newClock())
	until(t, s.IsUpgraded)
}
