package boltkv

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/internal/bloom"
	"github.com/ringtree/ringtree/internal/proof"
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
				page[at+len("bench:000005")]++
				hidden++
			}
		}
		return file
	})
	if found := scrubbed(t, path, nil); hidden == 0 || found.Missing == 0 || found.OK() {
		t.Errorf("%d keys were changed, and the scrub found %+v", hidden, found)
	}
}

// filtering opens a store with small filters, and counts the read transactions of the tree.
func filtering(t *testing.T, path string) (*Store, *atomic.Int64) {
	t.Helper()
	reads := new(atomic.Int64)
	s := need(openWith(path, Options{Durability: Unsynced}, func(s *Store) {
		s.limits.idle, s.limits.tick, s.limits.spare = 0, time.Millisecond, 10
		begin := s.beginRead
		s.beginRead = func() (*bolt.Tx, error) {
			reads.Add(1)
			return begin()
		}
	}))
	t.Cleanup(func() { must(s.Close()) })
	return s, reads
}

// goodFilter returns nil while there is no filter, or a full one.
func (s *Store) goodFilter() *bloom.Filter {
	if f := s.filter.Load(); f != nil && !f.IsFull() {
		return f
	}
	return nil
}

func TestStore_Get_OfAnAbsentKeyDoesNotReadTheTree(t *testing.T) {
	path := storeFile(t)
	s, reads := filtering(t, path)
	until(t, func() bool { return s.goodFilter() != nil })
	const n = 1000
	for i := range n {
		if _, err := kv.One(t.Context(), s, kv.OpGet(keyAt(n+i))); !errors.Is(err, kv.ErrNotFound) {
			t.Fatal(err)
		}
		if _, err := kv.One(t.Context(), s, kv.OpReplace(keyAt(n+i), 1, nil)); !errors.Is(err, kv.ErrNotFound) {
			t.Fatal(err)
		}
	}
	if got := reads.Load(); got > n/20 {
		t.Errorf("%d gets and replacements of absent keys read the tree %d times", n, got)
	}
	reads.Store(0)
	for i := range n {
		one(t, s, kv.OpGet(keyAt(i)))
	}
	proof.Equal(t, reads.Load(), n, "of")
}

// Writers make and remove keys, so that filters are replaced while tables are moved. Each writer
// knows the values of its own keys.
func TestStore_Filter_HidesNothingWhileFiltersAreMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	for range 2 {
		s, _ := filtering(t, path)
		var made atomic.Int64
		began := time.Now()
		var running sync.WaitGroup
		for w := range 4 {
			running.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(w), 1))
				var last *bloom.Filter
				var held []string
				for i := 0; made.Load() < 8 && time.Since(began) < time.Minute; i++ {
					key := fmt.Sprintf("w%d:%d:%d", w, i, rnd.IntN(1<<30))
					held = append(held, key)
					one(t, s, kv.OpSet(key, []byte(key)))
					proof.Ends(t, nil)(kv.One(t.Context(), s, kv.OpGet(held[rnd.IntN(len(held))])))
					if len(held) > 100 {
						one(t, s, kv.OpDelete(held[0]))
						held = held[1:]
					}
					if i%3 == 0 {
						older := fmt.Sprintf("kept:%d:%d", w, rnd.IntN(50))
						_, _ = kv.One(t.Context(), s, kv.OpAdd(older, nil))
						if _, err := kv.One(t.Context(), s, kv.OpAdd(older, nil)); !errors.Is(err, kv.ErrExists) {
							t.Errorf("%s is added twice: %v", older, err)
						}
					}
					if now := s.goodFilter(); w == 0 && now != nil && now != last {
						last = now
						made.Add(1)
					}
				}
			})
		}
		running.Wait()
		if got := made.Load(); got < 8 {
			t.Fatalf("%d filters were made in a minute", got)
		}
		for key := range need(listed(t, s, "")) {
			one(t, s, kv.OpGet(key))
		}
		must(s.Close())
	}
}

// A block under a key with a flipped bit is damaged.
func TestStore_Scrub_NoticesAKeyThatWasFlippedAndFillsNoFilter(t *testing.T) {
	path := storeFile(t)
	changeItems(path, func(items *bolt.Bucket) error {
		buf := append([]byte(nil), items.Get([]byte(keyAt(7)))...)
		if err := items.Delete([]byte(keyAt(7))); err != nil {
			return err
		}
		return items.Put([]byte(keyAt(7)+"\x01"), buf)
	})
	s, _ := filtering(t, path)
	until(t, func() bool { return !s.Stats().Scrub.Ended.IsZero() })
	if found := s.Stats().Scrub; found.Err == nil || s.goodFilter() != nil {
		t.Errorf("the scrub found %+v, and the filter is %v", found, s.goodFilter())
	}
}

func openStill(t *testing.T, path string, change func(*Store)) *Store {
	t.Helper()
	s := need(openWith(path, Options{Durability: Unsynced}, func(s *Store) {
		s.limits.tick, s.limits.idle = time.Hour, time.Hour
		if change != nil {
			change(s)
		}
	}))
	t.Cleanup(func() {
		closes(t, s)
	})
	return s
}

func largeFile(t *testing.T, n int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	s := need(Open(path, Options{Durability: Unsynced}))
	for i := range n {
		need(kv.One(t.Context(), s, kv.OpSet(largeKey(i), Noise(100_000))))
	}
	must(s.Close())
	return path
}

func largeKey(i int) string { return fmt.Sprintf("large:%03d", i) }

func (s *Store) scrubStep(t *testing.T) {
	t.Helper()
	must(s.scrubSome())
}

func TestStore_Filter_IsNotAskedUntilAllKeysAreInIt(t *testing.T) {
	const n = 30
	s := openStill(t, largeFile(t, n), nil)
	steps := 0
	for s.Stats().Scrub.Ended.IsZero() {
		s.scrubStep(t)
		steps++
		if _, err := kv.One(t.Context(), s, kv.OpGet(largeKey(n-1))); err != nil {
			t.Fatalf("after %d steps of the scrub: %v", steps, err)
		}
	}
	if steps < 3 || s.filter.Load() == nil {
		t.Errorf("after %d steps the filter is %v", steps, s.filter.Load())
	}
}

func TestStore_Filter_HasKeysThatAreMovedBehindTheScrub(t *testing.T) {
	s := openStill(t, largeFile(t, 30), nil)
	s.scrubStep(t)
	need(kv.One(t.Context(), s, kv.OpSet("a", []byte("1"))))
	must(s.moveTable(s.filling, s.log, func(*state) {}))
	for s.Stats().Scrub.Ended.IsZero() {
		s.scrubStep(t)
	}
	if got := s.filter.Load().Lacks("a"); got {
		t.Error("the filter lacks a key that was moved while it was filled")
	}
}

func TestStore_Filter_IsNoneOfMoreKeysThanItMayHaveRoomFor(t *testing.T) {
	s := openStill(t, largeFile(t, 3), func(s *Store) { s.limits.spare, s.limits.filter = 0, 5 })
	s.scrubStep(t)
	if s.Stats().Scrub.Ended.IsZero() || s.filter.Load() != nil {
		t.Errorf("the scrub found %+v, and the filter is %v", s.Stats().Scrub, s.filter.Load())
	}
	proof.Ends(t, kv.ErrNotFound)(kv.One(t.Context(), s, kv.OpGet("absent")))
	if got := s.limits.newFilter(2); got == nil {
		t.Error("a tree of 2 keys has no filter, with 5 bytes for 3")
	}
}
