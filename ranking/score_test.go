package ranking_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// checkScores asserts that a tree with these scores, which ascend, has them in
// order, from either end, whichever end comes first.
func checkScores[S any](t *testing.T, of ranking.ScoreOf[S], scores []S) {
	t.Helper()
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(ctx)
	for _, low := range []bool{false, true} {
		tree := ranking.NewTree(db, ranking.TreeSpec[S]{Name: fmt.Sprint("low ", low), Of: of, Low: low})
		for i := range scores {
			// Out of order; the number of scores is odd.
			n := i * 2 % len(scores)
			if err := tree.Set(ctx, fmt.Sprint(n), scores[n]); err != nil {
				t.Fatal(err)
			}
		}
		want := slices.Clone(scores)
		if !low {
			slices.Reverse(want)
		}
		for range 2 {
			var got []S
			members, err := tree.At(ctx, 1, len(scores))
			for _, m := range members {
				got = append(got, m.Score)
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("low %v: %v, mismatch (-want +got):\n%s", low, err, diff)
			}
			tree = tree.Ascending()
			slices.Reverse(want)
		}
		n, err := tree.Count(ctx, scores[1], scores[len(scores)-1])
		if err != nil || n != len(scores)-2 {
			t.Errorf("%d between the second and the last, %v; want %d", n, err, len(scores)-2)
		}
	}
}

func TestTree_OrdersScoresOfEveryKind(t *testing.T) {
	t.Run("int64", func(t *testing.T) {
		checkScores(t, ranking.Int[int64](), []int64{math.MinInt64, -1 << 40, -2, -1, 0, 1, 2, 1 << 40, math.MaxInt64})
	})
	t.Run("uint64", func(t *testing.T) {
		checkScores(t, ranking.Uint[uint64](), []uint64{0, 1, 2, 1 << 40, math.MaxInt64, 1 << 63, math.MaxUint64})
	})
	t.Run("float64", func(t *testing.T) {
		checkScores(t, ranking.Float[float64](), []float64{math.Inf(-1), -math.MaxFloat64, -1.5, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1, math.MaxFloat64, math.Inf(1)})
	})
	t.Run("decimal", func(t *testing.T) {
		checkScores(t, ranking.Decimal[float64](2), []float64{-1e15, -19.99, -0.01, 0, 0.01, 0.1, 19.98, 19.99, 1e15})
	})
	t.Run("time", func(t *testing.T) {
		day := time.Date(2025, 3, 30, 1, 2, 3, 4e6, time.UTC)
		checkScores(t, ranking.Time(), []time.Time{day.AddDate(-200, 0, 0), day.Add(-time.Millisecond), day, day.Add(time.Millisecond), day.AddDate(300, 0, 0)})
	})
}

func TestTree_RefusesScoresItCannotOrder(t *testing.T) {
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(ctx)
	floats := ranking.NewTree(db, ranking.TreeSpec[float64]{Name: "floats", Of: ranking.Float[float64]()})
	prices := ranking.NewTree(db, ranking.TreeSpec[float64]{Name: "prices", Of: ranking.Decimal[float64](2)})
	for name, err := range map[string]error{
		"NaN":              floats.Set(ctx, "x", math.NaN()),
		"NaN, decimal":     prices.Set(ctx, "x", math.NaN()),
		"infinite decimal": prices.Set(ctx, "x", math.Inf(-1)),
		"large decimal":    prices.Set(ctx, "x", 1e18),
		"adding to floats": floats.Add(ctx, "x", 1),
	} {
		if !errors.Is(err, kvmodel.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := floats.Set(ctx, "zero", math.Copysign(0, -1)); err != nil {
		t.Fatal(err)
	}
	if got, err := floats.Get(ctx, "zero"); err != nil || math.Signbit(got) {
		t.Errorf("-0 became %v, %v", got, err)
	}
	if n, err := prices.Len(ctx); n != 0 || err != nil {
		t.Errorf("%d members after nothing but refusals, %v", n, err)
	}
}

// Sums stop at the greatest number there is.
func TestTree_Add_StopsAtTheLimits(t *testing.T) {
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(ctx)
	tree := hitTree(db, ranking.Every)
	for _, delta := range []int64{math.MaxInt64, math.MaxInt64, -1} {
		if err := tree.Add(ctx, "x", delta); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := tree.Get(ctx, "x"); got != math.MaxInt64-1 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
}
