package boltkv_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	benchItems = 10_000
	benchRound = 500 * time.Millisecond
)

// BenchmarkGet reads one item of 1 KiB, alternately through a Store and through
// bbolt itself, and reports the ratio of the medians.
func BenchmarkGet(b *testing.B) {
	s, raw := benchStore(b), benchBolt(b)
	fill(b, s, raw)
	ctx := context.Background()
	var ours, theirs []time.Duration
	for b.Loop() {
		ours = append(ours, timeGets(func(key string) { must(kv.One(ctx, s, kv.OpGet(key))) }))
		theirs = append(theirs, timeGets(func(key string) { rawGet(raw, key) }))
	}
	b.ReportMetric(float64(median(ours))/1000, "ns/get")
	b.ReportMetric(float64(median(theirs))/1000, "ns/raw-get")
	b.ReportMetric(ratio(median(ours), median(theirs)), "x-raw")
}

// BenchmarkSyncedWriters compares, in alternation, how much 32 writers get done
// with how much one does, and how much 64 do with how much bbolt's own Batch
// does.
func BenchmarkSyncedWriters(b *testing.B) {
	s, raw := benchStore(b), benchBolt(b)
	raw.MaxBatchDelay = time.Millisecond
	ctx := context.Background()
	set := func(key string) { must(kv.One(ctx, s, kv.OpSet(key, make([]byte, 100)))) }
	batch := func(key string) {
		err := raw.Batch(func(tx *bolt.Tx) error { return tx.Bucket(benchBucket).Put([]byte(key), make([]byte, 100)) })
		check(err)
	}
	var one, many, most, batched, perCommit []int
	for b.Loop() {
		one = append(one, countWrites(1, set))
		many = append(many, countWrites(32, set))
		before := s.Stats()
		most = append(most, countWrites(64, set))
		perCommit = append(perCommit, commitShare(before, s.Stats()))
		batched = append(batched, countWrites(64, batch))
	}
	b.ReportMetric(float64(median(one)), "writes-of-1")
	b.ReportMetric(ratio(median(many), median(one)), "32-vs-1")
	b.ReportMetric(ratio(median(most), median(batched)), "64-vs-Batch")
	b.ReportMetric(float64(median(perCommit)), "ops/commit-of-64")
}

// commitShare returns how many ops shared a commit, on average, between two
// Stats.
func commitShare(before, after boltkv.Stats) int {
	return int((after.Ops - before.Ops) / max(after.Commits-before.Commits, 1))
}

// BenchmarkSet writes one item per op with one writer.
func BenchmarkSet(b *testing.B) {
	for _, durability := range []boltkv.Durability{boltkv.Synced, boltkv.Unsynced} {
		b.Run(durability.String(), func(b *testing.B) {
			s := openAt(b, filepath.Join(b.TempDir(), "store.db"), boltkv.Options{Durability: durability})
			value := make([]byte, 100)
			b.ReportAllocs()
			for b.Loop() {
				must(kv.One(b.Context(), s, kv.OpSet("key", value)))
			}
		})
	}
}

func countWrites(writers int, write func(key string)) int {
	var wg sync.WaitGroup
	done := make([]int, writers)
	end := time.Now().Add(benchRound)
	for w := range writers {
		wg.Go(func() {
			for ; time.Now().Before(end); done[w]++ {
				write(fmt.Sprintf("w%d-%d", w, done[w]%1000))
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range done {
		sum += n
	}
	return sum
}

func timeGets(get func(key string)) time.Duration {
	start := time.Now()
	for i := range 1000 {
		get(benchKey(i * 7 % benchItems))
	}
	return time.Since(start)
}

var benchBucket = []byte("items")

func rawGet(db *bolt.DB, key string) {
	check(db.View(func(tx *bolt.Tx) error {
		if slices.Clone(tx.Bucket(benchBucket).Get([]byte(key))) == nil {
			return kv.ErrNotFound
		}
		return nil
	}))
}

func benchKey(i int) string { return fmt.Sprintf("bench:%08d", i) }

func benchStore(b *testing.B) *boltkv.Store {
	return openAt(b, filepath.Join(b.TempDir(), "store.db"), boltkv.Options{})
}

func benchBolt(b *testing.B) *bolt.DB {
	db := must(bolt.Open(filepath.Join(b.TempDir(), "raw.db"), 0o600, nil))
	b.Cleanup(func() { check(db.Close()) })
	check(db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket(benchBucket); return err }))
	return db
}

func fill(b *testing.B, s kv.Store, raw *bolt.DB) {
	value := make([]byte, 1024)
	ops := make([]kv.Op, benchItems)
	for i := range ops {
		ops[i] = kv.OpSet(benchKey(i), value)
	}
	check(s.Do(b.Context(), ops))
	check(raw.Update(func(tx *bolt.Tx) error {
		for i := range benchItems {
			if err := tx.Bucket(benchBucket).Put([]byte(benchKey(i)), value); err != nil {
				return err
			}
		}
		return nil
	}))
}

func median[T int | time.Duration](of []T) T {
	slices.Sort(of)
	return of[len(of)/2]
}

func ratio[T int | time.Duration](a, b T) float64 { return float64(a) / float64(max(b, 1)) }
