package memberlog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Some hashes begin with the same bits, and members have several entries.
func TestRearrange_TheOrderIsByPositionAndThenByArrival(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		rows := make([]row, 1+rng.IntN(60))
		for i := range rows {
			rows[i].ID = fmt.Sprint(rng.IntN(8))
			rows[i].hash = uint64(rng.IntN(3))<<60 | uint64(rng.IntN(3))
			rows[i].Rev = uint64(i)
		}
		want := slices.Clone(rows)
		slices.SortStableFunc(want, func(a, b row) int { return a.compare(&b) })
		rearrange(rows, order(rows))
		if !slices.Equal(rows, want) {
			t.Fatalf("seed %d: got %v, want %v", seed, rows, want)
		}
	}
}
