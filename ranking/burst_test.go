package ranking_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// counting is a store without powers that counts its trips.
func counting(trips *atomic.Int64) kv.Store {
	return kv.Trace(still{memkv.New(memkv.Options{})}, func(context.Context, kv.Trip) { trips.Add(1) })
}

func TestBoard_ABurstOfCreatesTakesFewTripsEach(t *testing.T) {
	const n, clients = 800, 32
	var trips atomic.Int64
	a := openArticles(counting(&trips), ranking.Windowed)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := c; i < n; i += clients {
				if err := a.Create(ctx, &article{ID: memberID(i), Stock: 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	flush(t, a)
	if got := trips.Load(); got > 12*n {
		t.Errorf("%d trips for %d creates", got, n)
	}
	report, err := a.TopStock.Verify(ctx)
	if err != nil || len(report.Wrong) > 0 || report.Members != n {
		t.Errorf("verify: %d members, %v, %v; want %d", report.Members, report.Wrong, err, n)
	}
	must(t, a.db.Close(ctx))
}

// What a flush takes does not depend on the number of records.
func TestBoard_ABurstOfFirstCountsTakesFewTrips(t *testing.T) {
	const n = 500
	var trips atomic.Int64
	a := openArticles(counting(&trips), ranking.Windowed)
	for i := range n {
		must(t, a.Create(ctx, &article{ID: memberID(i), Category: "tea"}))
	}
	flush(t, a)
	for i := range n {
		must(t, a.views.Hit(ctx, memberID(i)))
	}
	before := trips.Load()
	flush(t, a)
	if got := trips.Load() - before; got > 100 {
		t.Errorf("%d trips for %d counts on two boards", got, n)
	}
	for _, board := range []*ranking.Board[article, string, int64]{a.TopViews, a.ViewsADay.Of("tea")} {
		if got, err := board.Len(ctx); got != n || err != nil {
			t.Errorf("%d members, %v; want %d", got, err, n)
		}
	}
	must(t, a.db.Close(ctx))
}

func TestBoard_ByACounter_ABurstThatIsCutOffKeepsWhatItHasWritten(t *testing.T) {
	const n = 3_000
	var log proof.Log
	var left atomic.Int64 // writes before the store is too busy
	left.Store(1 << 40)
	s := filtered{memkv.New(memkv.Options{}), func(op *kv.Op) bool { return writesBoard(op) && left.Add(-1) < 0 }}
	db, err := kvmodel.Open(s, kvmodel.Log(slog.New(slog.NewTextHandler(&log, nil))))
	must(t, err)
	r := kvmodel.NewRecords(db, articleSchema())
	views := &counter{s: db.Store()}
	top := ranking.NewBoard(r, ranking.Spec[article, int64]{Name: "TopViews", Of: ranking.Int[int64](), Counter: views})
	for from := 0; from < n; from += 500 {
		var all []*article
		for i := range 500 {
			all = append(all, &article{ID: memberID(from + i)})
		}
		must(t, r.CreateMulti(ctx, all))
	}
	must(t, db.Flush(ctx))
	left.Store(n / 2)
	for i := range n {
		must(t, views.Hit(ctx, memberID(i)))
	}
	err = db.Flush(ctx)
	if !errors.Is(err, kv.ErrUnavailable) || len(err.Error()) > 2000 {
		t.Errorf("flush: %d bytes: %.2000v", len(err.Error()), err)
	}
	report, err := top.Verify(ctx)
	if err != nil || report.Members < n/5 {
		t.Errorf("%d members are written, %v; want at least %d", report.Members, err, n/5)
	}
	left.Store(1 << 40)
	must(t, db.Flush(ctx))
	if report, err := top.Verify(ctx); err != nil || len(report.Wrong) > 0 || report.Members != n {
		t.Errorf("verify: %d members, %v, %v; want %d", report.Members, report.Wrong, err, n)
	}
	must(t, db.Close(ctx))
	for line := range strings.Lines(log.String()) {
		if len(line) > 2000 {
			t.Errorf("a line of the log has %d bytes: %.200s", len(line), line)
		}
	}
}
