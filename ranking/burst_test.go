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

// countAll counts each of n members once, from 32 clients, in batches of size, 2*size
// and so on up to 4,096, and returns what it cost.
func countAll(t *testing.T, n, size int) *metered {
	t.Helper()
	s := &metered{Store: memkv.New(memkv.Options{})}
	db, err := kvmodel.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	tree := hitTree(db, ranking.Windowed)
	for begin := 0; begin < n; begin, size = begin+size, min(2*size, 4096) {
		hitSome(t, tree, begin, min(begin+size, n))
		if err := db.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := tree.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := tree.Len(ctx); got != n || err != nil {
		t.Errorf("%d members, %v; want %d", got, err, n)
	}
	if err := db.Close(ctx); err != nil {
		t.Error(err)
	}
	return s
}

// hitSome counts the members from begin to end once each, from 32 clients.
func hitSome(t *testing.T, tree *ranking.Tree[int64], begin, end int) {
	t.Helper()
	const clients = 32
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := begin + c; i < end; i += clients {
				if err := tree.Hit(ctx, memberID(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestTree_Hit_ABurstOnAnEmptyTreeCostsWhatGrowingBatchesCost(t *testing.T) {
	const n = 4_000
	growing, burst := countAll(t, n, 100), countAll(t, n, n)
	t.Logf("growing: %d trips, %d ops, %d writes of nodes; burst: %d, %d, %d",
		growing.trips.Load(), growing.ops.Load(), growing.nodes.Load(),
		burst.trips.Load(), burst.ops.Load(), burst.nodes.Load())
	if burst.trips.Load() > 2*growing.trips.Load() || burst.ops.Load() > 2*growing.ops.Load() {
		t.Errorf("a burst takes %d trips and %d ops, growing batches %d and %d",
			burst.trips.Load(), burst.ops.Load(), growing.trips.Load(), growing.ops.Load())
	}
	// A node is made, written a few times as the tree grows, and told of reports.
	if burst.nodes.Load() > n/5 {
		t.Errorf("a burst writes nodes %d times for %d members", burst.nodes.Load(), n)
	}
}

func TestTree_Hit_ABurstOfManyProcessesLosesNone(t *testing.T) {
	const processes, n = 4, 800
	s := &metered{Store: memkv.New(memkv.Options{})}
	eachWriter(t, s, processes, func(db *kvmodel.DB) error {
		tree := hitTree(db, ranking.Windowed)
		for i := range n {
			if err := tree.Hit(ctx, memberID(i)); err != nil {
				return err
			}
		}
		return db.Flush(ctx)
	})
	db, err := kvmodel.Open(s, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(ctx)
	tree := hitTree(db, ranking.Windowed)
	report, err := tree.Verify(ctx)
	if err != nil || len(report.Wrong) > 0 || report.Members != n {
		t.Errorf("verify: %d members, %v, %v; want %d", report.Members, report.Wrong, err, n)
	}
	if got, err := tree.Get(ctx, memberID(n/2)); got != processes || err != nil {
		t.Errorf("%d hits, %v; want %d", got, err, processes)
	}
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
		if err := a.Create(ctx, &article{ID: memberID(i), Category: "tea"}); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, a)
	for i := range n {
		if err := a.views.Hit(ctx, memberID(i)); err != nil {
			t.Fatal(err)
		}
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

func TestTree_Hit_ABurstThatIsCutOffKeepsWhatItHasWritten(t *testing.T) {
	const n = 4_000
	var log proof.Log
	s := &slow{Store: memkv.New(memkv.Options{})}
	s.left.Store(n / 2)
	db, err := kvmodel.Open(s, kvmodel.Log(slog.New(slog.NewTextHandler(&log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	tree := hitTree(db, ranking.Windowed)
	hitSome(t, tree, 0, n)
	err = db.Flush(ctx)
	if !errors.Is(err, kv.ErrUnavailable) || len(err.Error()) > 2000 {
		t.Errorf("flush: %d bytes: %.2000v", len(err.Error()), err)
	}
	report, err := tree.Verify(ctx)
	if err != nil || report.Members < n/5 {
		t.Errorf("%d members are written, %v; want at least %d", report.Members, err, n/5)
	}
	s.left.Store(1 << 40)
	if err := db.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if report, err := tree.Verify(ctx); err != nil || len(report.Wrong) > 0 || report.Members != n {
		t.Errorf("verify: %d members, %v, %v; want %d", report.Members, report.Wrong, err, n)
	}
	for id, want := range map[string]int64{memberID(0): 1, memberID(n - 1): 1} {
		if got, err := tree.Get(ctx, id); got != want || err != nil {
			t.Errorf("%s: %d hits, %v; want %d", id, got, err, want)
		}
	}
	if err := db.Close(ctx); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(log.String()) {
		if len(line) > 2000 {
			t.Errorf("a line of the log has %d bytes: %.200s", len(line), line)
		}
	}
}
