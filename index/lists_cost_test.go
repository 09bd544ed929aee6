package index_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// The list is one segment that was never folded. A page reads twenty records, too.
func TestList_ReadingAThousandMembersTakesFewAllocationsAndBytes(t *testing.T) {
	ctx := t.Context()
	b := newBooks(closing(t, open(t, server{memkv.New(memkv.Options{})})))
	for i := range 1000 {
		must(t, b.Create(ctx, &book{ID: fmt.Sprint(100_000 + i), Author: "ann"}))
	}
	must(t, b.db.Flush(ctx))
	list := b.ByAuthor.Of("ann")
	for name, c := range map[string]struct {
		allocs, bytes float64
		members       int
		read          func() (int, error)
	}{
		"Count": {20, 125_000, 1000, func() (int, error) { return list.Count(ctx) }},
		"IDs": {20, 125_000, 1000, func() (n int, err error) {
			for _, err = range list.IDs(ctx) {
				n++
			}
			return n, err
		}},
		"Page": {400, 145_000, 20, func() (int, error) {
			l, err := list.Page(ctx, "", 20)
			return len(l.Items), err
		}},
	} {
		read := func() {
			if n, err := c.read(); n != c.members || err != nil {
				t.Fatalf("%s: %d members, %v", name, n, err)
			}
		}
		read()
		allocs, bytes := leastPerRun(50, read)
		t.Logf("%s: %.0f allocations, %.0f bytes", name, allocs, bytes)
		if allocs > c.allocs || bytes > c.bytes {
			t.Errorf("%s takes %.0f allocations and %.0f bytes, want at most %.0f and %.0f", name, allocs, bytes, c.allocs, c.bytes)
		}
	}
}

// leastPerRun returns the fewest allocations and bytes of a run, since other goroutines may allocate.
func leastPerRun(runs int, f func()) (allocs, bytes float64) {
	var before, after runtime.MemStats
	fewest, least := uint64(math.MaxUint64), uint64(math.MaxUint64)
	for range runs {
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		fewest = min(fewest, after.Mallocs-before.Mallocs)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return float64(fewest), float64(least)
}
