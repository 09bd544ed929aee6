package ranking_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

func openDays(t *testing.T, days ...map[string]int64) *articles {
	t.Helper()
	c := proof.NewClock(time.Date(2025, 3, 30, 12, 0, 0, 0, time.UTC))
	a := openArticles(plain{memkv.New(memkv.Options{Now: c.Now})}, ranking.Windowed, kvmodel.Clock(c.Now))
	for i, day := range days {
		c.Advance(time.Duration(min(i, 1)) * 24 * time.Hour)
		for _, id := range slices.Sorted(maps.Keys(day)) {
			if _, err := a.Get(ctx, id); err != nil {
				must(t, a.Create(ctx, &article{ID: id, Category: "tea"}))
			}
			must(t, a.views.Add(ctx, id, day[id]))
		}
		flush(t, a)
	}
	return a
}

func totalsOf(n int, days ...map[string]int64) []int64 {
	sums := map[string]int64{}
	for _, day := range days {
		for id, count := range day {
			sums[id] += count
		}
	}
	all := slices.Sorted(maps.Values(sums))
	slices.Reverse(all)
	return all[:min(n, len(all))]
}

func scoresOf(places []ranking.Place[article, int64]) []int64 {
	scores := make([]int64, len(places))
	for i, p := range places {
		scores[i] = p.Score
	}
	return scores
}

func TestBoard_Last_FindsASteadyRecordThatIsNeverAmongTheFirstOfAPeriod(t *testing.T) {
	var days []map[string]int64
	for d := range 3 {
		day := map[string]int64{"steady": 50}
		for i := range 60 {
			day[fmt.Sprintf("day%d-%02d", d, i)] = int64(110 - i)
		}
		days = append(days, day)
	}
	a := openDays(t, days...)
	defer a.db.Close(ctx)
	places, off, err := a.ViewsADay.Of("tea").Last(ctx, 3, 5)
	if diff := cmp.Diff(totalsOf(5, days...), scoresOf(places)); diff != "" || off != 0 || err != nil {
		t.Errorf("off by %d, %v, mismatch (-want +got):\n%s", off, err, diff)
	}
	if places[0].Item.ID != "steady" || places[0].Score != 150 {
		t.Errorf("the first is %s with %d", places[0].Item.ID, places[0].Score)
	}
	metered, meter := kv.Metered(ctx)
	if _, _, err := a.ViewsADay.Of("tea").Last(metered, 3, 5); err != nil || meter.Cost().Trips > 6 {
		t.Errorf("%d trips, %v; want at most 6", meter.Cost().Trips, err)
	}
}

func TestBoard_Last_SaysHowFarItMayBeOffWhereAllScoresAreNearlyTheSame(t *testing.T) {
	var days []map[string]int64
	for d := range 3 {
		day := map[string]int64{}
		for i := range 90 {
			day[fmt.Sprintf("day%d-%02d", d, i)] = 11
			day[fmt.Sprintf("all-%02d", i)] = 10
		}
		days = append(days, day)
	}
	a := openDays(t, days...)
	defer a.db.Close(ctx)
	board := a.ViewsADay.Of("tea")
	// Of each day, 64 are read; those that were counted every day follow after 90.
	places, off, err := board.Last(ctx, 3, 2)
	if err != nil || len(places) != 2 {
		t.Fatal(len(places), err)
	}
	if missing := int64(30) - places[1].Score; off < missing || off > 33-places[1].Score {
		t.Errorf("off by %d, and the totals are %v; a record that is missing has 30", off, scoresOf(places))
	}
	metered, meter := kv.Metered(ctx)
	if _, _, err := board.Last(metered, 3, 2); err != nil || meter.Cost().Trips > 6 {
		t.Errorf("%d trips, %v; want at most 6", meter.Cost().Trips, err)
	}
	// Of 128, some are seen on more than one day. None of the others has more than 31.
	places, off, err = board.Last(ctx, 3, 4)
	if diff := cmp.Diff([]int64{30, 30, 30, 30}, scoresOf(places)); diff != "" || off != 1 || err != nil {
		t.Errorf("off by %d, %v; want 1; mismatch (-want +got):\n%s", off, err, diff)
	}
}

func TestBoard_Last_IsNeverOffByMoreThanItSays(t *testing.T) {
	rng := seeded(t)
	for range proof.Size(2, 6) {
		days := make([]map[string]int64, 3)
		flat := 1 + rng.Int64N(40)
		for d := range days {
			days[d] = map[string]int64{}
			for i := range int64(120) {
				if rng.IntN(3) > 0 {
					days[d][memberID(int(i))] = 1 + rng.Int64N(1+(120-i)*40/(flat+i))
				}
			}
		}
		a := openDays(t, days...)
		for i, n := range []int{1, 3, 10, 5} {
			periods := 1 + i // The last one begins before the first day.
			places, off, err := a.ViewsADay.Of("tea").Last(ctx, periods, n)
			if err != nil || len(places) != n {
				t.Fatalf("%d places, %v; want %d", len(places), err, n)
			}
			want, got := totalsOf(n, days[max(0, 3-periods):]...), scoresOf(places)
			for i := range want {
				if want[i]-got[n-1] > off && want[i] > got[i] {
					t.Errorf("n %d: off by %d at most, want %v, got %v", n, off, want, got)
				}
			}
		}
		must(t, a.db.Close(ctx))
	}
}
