package main

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringtree/ringtree/examples/forum"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

var (
	loaded = flag.Int("records", 100_000, "number of records that BenchmarkLoad loads")
	onto   = flag.String("store", "", "the empty store that BenchmarkLoad loads into, instead of a file")
	mix    = flag.String("mix", "forum", "whose records BenchmarkLoad loads: forum or conduit")

	mixes = map[string]func(ctx context.Context, b *testing.B, db *kvmodel.DB, n int, p *peak) int{"forum": loadForum, "conduit": loadConduit}
)

// BenchmarkLoad loads the records of a site, each made when Load asks for it, and reports the
// largest live heap after the first 100,000 records, after half of them and at the end. The store's
// caches and tables fill meanwhile, up to the bounds in docs/internals/architecture.md.
func BenchmarkLoad(b *testing.B) {
	ctx := b.Context()
	for b.Loop() {
		url := *onto
		if url == "" {
			url = "bolt:" + filepath.Join(b.TempDir(), "new.db") + "?durability=unsynced"
		}
		store, err := kvopen.Store(ctx, url, all.Engines)
		must(b, err)
		db, err := kvmodel.Open(store)
		must(b, err)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		began, cpu := time.Now(), usedCPU()
		peak := new(peak)
		n := mixes[*mix](ctx, b, db, *loaded, peak)
		wall, used := time.Since(began), usedCPU()-cpu
		runtime.ReadMemStats(&after)
		must(b, db.Close(ctx))
		b.ReportMetric(float64(n)/wall.Seconds(), "records/s")
		b.ReportMetric(float64(used.Nanoseconds())/1000/float64(n), "cpu-us/record")
		b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(n), "allocs/record")
		b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(n), "B/record")
		b.ReportMetric(float64(peak.early)/(1<<20), "live-MB-at-100k")
		b.ReportMetric(float64(peak.half)/(1<<20), "live-MB-at-half")
		b.ReportMetric(float64(peak.bytes)/(1<<20), "live-MB-at-end")
	}
}

func usedCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak is the largest live heap seen, as of the last garbage collection, which may be in the middle
// of a batch.
type peak struct {
	done, bytes, early, half uint64
}

func (p *peak) sample(more int) {
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(heap)
	p.bytes = max(p.bytes, heap[0].Value.Uint64())
	if p.done += uint64(more); p.early == 0 && p.done >= 100_000 {
		p.early = p.bytes
	}
	if p.half == 0 && p.done >= uint64(*loaded/2) {
		p.half = p.bytes
	}
}

// loadForum loads about n records and returns their number.
func loadForum(ctx context.Context, b *testing.B, db *kvmodel.DB, n int, p *peak) int {
	m := forum.Open(db).Models()
	users, stories, comments := n/50, n/20, n/4
	user := func(i int) string { return fmt.Sprint("reader", i) }
	story := func(i int) string { return fmt.Sprintf("s%025d", i) }
	comment := func(i int) string { return fmt.Sprintf("c%025d", i) }
	at := func(i, of int) time.Time { return began.Add(time.Duration(i) * 1000 * time.Hour / time.Duration(of)) }
	author := func(i int) int { return favored(i, users) }
	answers := func(i int) int { return stories - 1 - favored(i*7, stories) }

	done := loadAll(ctx, b, m.Users.Records, p, users, func(i int) *forum.User {
		return &forum.User{Name: user(i), About: strings.Repeat("I read what is new. ", i%5), Looked: at(i, users)}
	})
	done += loadAll(ctx, b, m.Stories.Records, p, stories, func(i int) *forum.Story {
		return &forum.Story{
			ID: story(i), URL: fmt.Sprint("https://example.org/", i), Title: fmt.Sprint("The title of story ", i), Author: user(author(i)),
			Tags: []string{fmt.Sprint("tag", i%20), fmt.Sprint("tag", 20+i%17)}, Made: at(i, stories),
		}
	})
	done += loadAll(ctx, b, m.Comments.Records, p, comments, func(i int) *forum.Comment {
		c := &forum.Comment{
			ID: comment(i), Story: story(answers(i)), Author: user(i * 31 % users), To: user(author(answers(i))),
			Text: strings.Repeat("I do not agree with that. ", 1+i%9), Made: at(i, comments),
		}
		if c.To == c.Author {
			c.To = ""
		}
		return c
	})
	votes := n * 3 / 5
	done += loadAll(ctx, b, m.Votes.Records, p, votes, func(i int) *forum.Vote {
		value := int64(1 - 2*(i%6/5))
		round := i / 2 / stories // by this a user votes once for a story
		if k := i / 2; i%2 == 0 {
			s := stories - 1 - favored(k, stories)
			return &forum.Vote{User: user((k + round) % users), Item: story(s), Story: story(s), Author: user(author(s)), Value: value}
		}
		c := (i / 2 * 7919) % comments
		return &forum.Vote{User: user((i/2 + i/2/comments) % users), Item: comment(c), Comment: comment(c), Author: user(c * 31 % users), Value: value}
	})
	done += loadAll(ctx, b, m.Saves.Records, p, n/20, func(i int) *forum.Save {
		return &forum.Save{User: user(i % users), Story: story((i*17 + i/users) % stories), Made: at(i, n/20)}
	})
	done += loadAll(ctx, b, m.Hides.Records, p, n*3/100, func(i int) *forum.Hide {
		return &forum.Hide{User: user(i % users), Story: story((i*13 + i/users) % stories)}
	})
	must(b, db.Flush(ctx))
	p.sample(0)
	return done
}

// favored returns a number below n, the same for each i, and more often a small one.
func favored(i, n int) int {
	x := math.Mod(float64(i)*0.6180339887498949, 1)
	return int(x * x * x * float64(n))
}

func loadAll[T any, K comparable](ctx context.Context, b *testing.B, r *kvmodel.Records[T, K], p *peak, n int, record func(i int) *T) int {
	var all iter.Seq2[*T, error] = func(yield func(*T, error) bool) {
		for i := range n {
			if !yield(record(i), nil) {
				return
			}
		}
	}
	before, failed := 0, 0
	done, err := r.Load(ctx, all, kvmodel.LoadOptions{
		Progress: func(n int) { p.sample(n - before); before = n },
		Failed:   func(int, error) { failed++ },
	})
	must(b, err)
	if failed > n/100 {
		b.Fatalf("%d of %d failed", failed, n)
	}
	return done - failed
}
