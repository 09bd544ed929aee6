package boltkv

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// scrubbed opens the store at path, and again after use, and returns the result of its first scrub.
func scrubbed(t *testing.T, path string, use func(s *Store)) Scrub {
	t.Helper()
	s, _ := quick(t, path, newClock())
	if use != nil {
		use(s)
		must(s.Close())
		s, _ = quick(t, path, newClock())
	}
	until(t, func() bool { return !s.Stats().Scrub.Ended.IsZero() })
	found := s.Stats().Scrub
	must(s.Close())
	return found
}

func changeItems(path string, change func(items *bolt.Bucket) error) {
	changeTree(path, func(tx *bolt.Tx) error { return change(tx.Bucket(itemsBucket)) })
}

func flip(path, key string) {
	changeItems(path, func(items *bolt.Bucket) error {
		buf := bytes.Clone(items.Get([]byte(key)))
		buf[len(buf)-1] ^= 0x10
		return items.Put([]byte(key), buf)
	})
}

func TestStore_Scrub_FindsNothingInAStoreThatIsInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, _ := quick(t, path, newClock())
	const n = 10_000
	fillWith(t, s, n)
	must(s.Close())
	s, _ = quick(t, path, newClock())
	for i := 0; s.Stats().Scrub.Ended.IsZero(); i++ {
		ops := []kv.Op{kv.OpSet(keyAt(rand.IntN(2*n)), fmt.Append(nil, i)), kv.OpDelete(keyAt(rand.IntN(2 * n)))}
		must(s.Do(t.Context(), ops))
	}
	if found := s.Stats().Scrub; !found.OK() || found.Items == 0 {
		t.Errorf("the scrub found %+v", found)
	}
}

func TestStore_Scrub_CountsDamagedItemsUntilTheyAreWrittenAgain(t *testing.T) {
	path := storeFile(t)
	for i := range 3 {
		flip(path, keyAt(100*i))
	}
	if found := scrubbed(t, path, nil); found.Damaged != 3 || found.Missing != 0 || found.Items != 1000 {
		t.Errorf("the scrub found %+v, want 3 damaged of 1000", found)
	}
	heal := func(s *Store) {
		one(t, s, kv.OpSet(keyAt(0), []byte("new")))
		one(t, s, kv.OpSet(keyAt(100), []byte("new")))
		one(t, s, kv.OpDelete(keyAt(200)))
	}
	if found := scrubbed(t, path, heal); !found.OK() {
		t.Errorf("after all were written again the scrub found %+v", found)
	}
	changeItems(path, func(items *bolt.Bucket) error { return items.Delete([]byte(keyAt(1))) })
	if found := scrubbed(t, path, nil); found.Missing != 1 {
		t.Errorf("the scrub found %+v, want 1 missing", found)
	}
}

func TestStore_Scrub_NoticesItemsThatVanishedOrCameBack(t *testing.T) {
	for name, change := range map[string]func(items *bolt.Bucket, gone []byte) error{
		"vanished":  func(items *bolt.Bucket, _ []byte) error { return items.Delete([]byte(keyAt(7))) },
		"come back": func(items *bolt.Bucket, gone []byte) error { return items.Put([]byte(keyAt(8)), gone) },
	} {
		t.Run(name, func(t *testing.T) {
			path := storeFile(t)
			var gone []byte
			changeItems(path, func(items *bolt.Bucket) error {
				gone = bytes.Clone(items.Get([]byte(keyAt(8))))
				return nil
			})
			s := openAt(t, path, Options{})
			one(t, s, kv.OpDelete(keyAt(8)))
			must(s.Close())
			changeItems(path, func(items *bolt.Bucket) error { return change(items, gone) })
			if found := scrubbed(t, path, nil); found.Missing == 0 || found.OK() {
				t.Errorf("the scrub found %+v", found)
			}
		})
	}
}

func TestStore_Scrub_SaysThatItCannotReadAPage(t *testing.T) {
	path := storeFile(t)
	damageItems(t, path)
	found := scrubbed(t, path, nil)
	if found.OK() || found.Err == nil || !strings.Contains(found.Err.Error(), path) {
		t.Errorf("the scrub found %+v", found)
	}
}

// The page that leads to others names another key than the first one of the page behind it. A
// cursor finds all items, and a get of that key does not.
func TestStore_Scrub_CountsItemsThatADamagedBranchHides(t *testing.T) {
	path := storeFile(t)
	hidden := 0
	change(path, func(file []byte) []byte {
		for page := range slices.Chunk(file, os.Getpagesize()) {
			const isBranch = 1
			if at := bytes.Index(page, []byte("bench:000005")); page[8] == isBranch && at >= 0 {
				page[at+len("bench:0000050")]++
				hidden++
			}
		}
		return file
	})
	if found := scrubbed(t, path, nil); hidden == 0 || found.Missing == 0 || found.OK() {
		t.Errorf("%d keys were changed, and the scrub found %+v", hidden, found)
	}
}
