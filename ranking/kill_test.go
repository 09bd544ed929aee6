package ranking_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

func TestBatch_AKilledProcessLosesNoMoreThanItsWindow(t *testing.T) {
	const life, window = 4 * time.Second, 1100 * time.Millisecond
	for name, batch := range map[string]ranking.Batch{"windowed": ranking.Windowed, "sampled": ranking.Sampled, "every": ranking.Every} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := memkv.New(memkv.Options{})
				var killed atomic.Bool
				a := openArticles(filtered{mem, func(*kv.Op) bool { return killed.Load() }}, batch)
				must(t, a.CreateMulti(ctx, manyArticles(killedMembers)))
				early := int64(0)
				for began := time.Now(); time.Since(began) < life; time.Sleep(5 * time.Millisecond) {
					for i := range killedMembers {
						must(t, a.views.Hit(ctx, memberID(i)))
					}
					if time.Since(began) < life-window {
						early++
					}
				}
				killed.Store(true)
				b := openArticles(still{mem}, batch)
				checkBoardOfKilled(t, b, batch, early)
				must(t, b.db.Close(ctx))
				_ = a.db.Close(ctx)
			})
		})
	}
}

const killedMembers = 10

// checkBoardOfKilled asserts that a board has the early counts, and all counts after the next hit.
func checkBoardOfKilled(t *testing.T, a *articles, batch ranking.Batch, early int64) {
	t.Helper()
	scores := func() map[string]int64 {
		places, err := a.TopViews.At(ctx, 1, 2*killedMembers)
		must(t, err)
		scores := make(map[string]int64)
		for _, p := range places {
			scores[p.Item.ID] = p.Score
		}
		return scores
	}
	if batch != ranking.Sampled {
		for i := range killedMembers {
			if got := scores()[memberID(i)]; got < early || early == 0 {
				t.Errorf("%s stands at %d, and %d were counted early", memberID(i), got, early)
			}
			must(t, a.views.Hit(ctx, memberID(i)))
		}
		flush(t, a)
	}
	now := scores()
	for i := range killedMembers {
		counts, err := a.views.Counts(ctx, a.db.Store(), []string{memberID(i)})
		must(t, err)
		if batch != ranking.Sampled && now[memberID(i)] != counts[0] || now[memberID(i)] > counts[0] {
			t.Errorf("%s stands at %d and was counted %d times", memberID(i), now[memberID(i)], counts[0])
		}
	}
}
