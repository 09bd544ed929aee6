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

// metered is a store that counts its trips, its ops, and how often nodes are written.
type metered struct {
	kv.Store
	trips, ops, nodes atomic.Int64
}

func (m *metered) Powers() kv.Powers { return kv.Powers{} }

func (m *metered) Close() error { return nil }

func (m *metered) Do(ctx context.Context, ops []kv.Op) error {
	m.trips.Add(1)
	m.ops.Add(int64(len(ops)))
	for _, op := range ops {
		if op.Kind != kv.Get && strings.Contains(op.Key, ":key0") {
			m.nodes.Add(1)
		}
	}
	return m.Store.Do(ctx, ops)
}

// A board by records fills up from many clients, each of which waits for its own
// record.
func TestBoard_ABurstOfCreatesTakesFewTripsEach(t *testing.T) {
	const n, clients = 800, 32
	s := &metered{Store: memkv.New(memkv.Options{})}
	a := openArticles(s, ranking.Windowed)
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
	if trips := s.trips.Load(); trips > 12*n {
		t.Errorf("%d trips for %d creates", trips, n)
	}
	report, err := a.TopStock.Verify(ctx)
	if err != nil || len(report.Wrong) > 0 || report.Members != n {
		t.Errorf("verify: %d members, %v, %v; want %d", report.Members, report.Wrong, err, n)
	}
	if err := a.db.Close(ctx); err != nil {
		t.Error(err)
	}
}

// Two boards follow 1,000 records that are counted for the first time. What a flush
// takes does not depend on how many these are.
func TestBoard_ABurstOfFirstCountsTakesFewTrips(t *testing.T) {
	const n = 500
	s := &metered{Store: memkv.New(memkv.Options{})}
	a := openArticles(s, ranking.Windowed)
	for i := range n {
		must(t, a.Create(ctx, &article{ID: memberID(i), Category: "tea"}))
	}
	flush(t, a)
	for i := range n {
		must(t, a.views.Hit(ctx, memberID(i)))
	}
	before := s.trips.Load()
	flush(t, a)
	if got := s.trips.Load() - before; got > 100 {
		t.Errorf("%d trips for %d counts on two boards", got, n)
	}
	for _, board := range []*ranking.Board[article, string, int64]{a.TopViews, a.ViewsADay.Of("tea")} {
		if got, err := board.Len(ctx); got != n || err != nil {
			t.Errorf("%d members, %v; want %d", got, err, n)
		}
	}
	if err := a.db.Close(ctx); err != nil {
		t.Error(err)
	}
}

// slow is a store that lets some writes of nodes through and then none, as one that is
// too busy.
type slow struct {
	kv.Store
	left atomic.Int64
}

func (s *slow) Powers() kv.Powers { return kv.Powers{} }

func (s *slow) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		op := &ops[i]
		if op.Kind != kv.Get && strings.HasPrefix(op.Key, "rank:") && s.left.Add(-1) < 0 {
			op.Result = kv.Result{Err: kv.ErrUnavailable}
			continue
		}
		_ = s.Store.Do(ctx, ops[i:i+1])
	}
	return kv.Unanswered(ops)
}

func TestBoard_ByACounter_ABurstThatIsCutOffKeepsWhatItHasWritten(t *testing.T) {
	const n = 3_000
	var log proof.Log
	s := &slow{Store: memkv.New(memkv.Options{})}
	s.left.Store(1 << 40)
	db, err := kvmodel.Open(s, kvmodel.Log(slog.New(slog.NewTextHandler(&log, nil))))
	must(t, err)
	r := kvmodel.NewRecords(db, kvmodel.Schema[article, string]{
		Name: "Article", Version: 1, Key: kvmodel.StringKey[string](), Codec: asJSON[article]{},
		ID: func(a *article) string { return a.ID }, SetID: func(a *article, id string) { a.ID = id },
	})
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
	s.left.Store(n / 2)
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
	s.left.Store(1 << 40)
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
