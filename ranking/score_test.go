package ranking_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

type nth struct{ N int64 }

func checkScores[S any](t *testing.T, of ranking.ScoreOf[S], scores []S) {
	t.Helper()
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	must(t, err)
	defer db.Close(ctx)
	r := kvmodel.NewRecords(db, kvmodel.Schema[nth, int64]{
		Name: "Nth", Version: 1, Key: kvmodel.IntKey[int64](), Codec: asJSON[nth]{},
		ID: func(v *nth) int64 { return v.N }, SetID: func(v *nth, n int64) { v.N = n },
	})
	spec := ranking.Spec[nth, S]{Name: "High", Of: of, Score: func(v *nth) S { return scores[v.N-1] }}
	boards := map[string]*ranking.Board[nth, int64, S]{"high": ranking.NewBoard(r, spec)}
	spec.Name, spec.Low = "Low", true
	boards["low"] = ranking.NewBoard(r, spec)
	for i := range scores {
		must(t, r.Create(ctx, &nth{int64(1 + i*2%len(scores))})) // Out of order; the number of scores is odd.
	}
	must(t, db.Flush(ctx))
	want := map[string][]S{"low": scores, "high": slices.Clone(scores)}
	slices.Reverse(want["high"])
	for name, board := range boards {
		places, err := board.At(ctx, 1, len(scores))
		var got []S
		for _, p := range places {
			got = append(got, p.Score)
		}
		if diff := cmp.Diff(want[name], got); diff != "" || err != nil {
			t.Errorf("%s: %v, mismatch (-want +got):\n%s", name, err, diff)
		}
		n, err := board.Between(scores[1], scores[len(scores)-1]).Count(ctx)
		if err != nil || n != len(scores)-2 {
			t.Errorf("%d between the second and the last, %v; want %d", n, err, len(scores)-2)
		}
	}
}

func TestBoard_OrdersScoresOfEveryKind(t *testing.T) {
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
