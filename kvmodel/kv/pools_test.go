package kv

import (
	"context"
	"testing"
)

func TestPools_SmallNeedsGetNoMemoryOfLargeOnes(t *testing.T) {
	ctx, large := context.Background(), 4000
	for range 10 {
		takeCrew(large, false).recycle()
		(*cargo)(nil).fit(large).recycle()
		newGetting(ctx, nil, large).leave()
	}
	for range 30 {
		got := max(cap(takeCrew(3, false).parts), cap((*cargo)(nil).fit(3).flight), cap(newGetting(ctx, nil, 3).gets))
		if got > 8 {
			t.Fatalf("3 ops take the memory of %d", got)
		}
	}
}

func TestPools_LargerTripsTakeLargerMemory(t *testing.T) {
	var c *cargo
	for _, n := range []int{0, 3, 9, 700, 5, 9000, 9001} {
		if c = c.fit(n); cap(c.flight) < n || len(c.flight) > 0 || n > 0 && classOf(n) > c.class {
			t.Errorf("%d ops: cap %d, len %d, class %d", n, cap(c.flight), len(c.flight), c.class)
		}
	}
	c.recycle()
}
