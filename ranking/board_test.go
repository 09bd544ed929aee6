package ranking_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/ranking/collation"
)

func ids(items []*article) []string {
	var ids []string
	for _, a := range items {
		ids = append(ids, a.ID)
	}
	return ids
}

func allOf(t *testing.T, l kvmodel.Lister[article], n int, keep ...func(*article) bool) []string {
	t.Helper()
	var all []string
	cursor := ""
	for {
		page, err := l.Page(ctx, cursor, n, keep...)
		if err != nil {
			t.Fatal("page:", err)
		}
		all = append(all, ids(page.Items)...)
		if cursor = page.Next; cursor == "" {
			return all
		}
	}
}

func TestBoard_ShowsTheRecordsInTheOrderOfTheirScores(t *testing.T) {
	eachStore(t, func(t *testing.T, a *articles) {
		rng := seeded(t)
		all := map[string]*article{}
		for i := range proof.Size(300, 700) {
			id := fmt.Sprintf("a%03d", rng.IntN(200))
			v := &article{ID: id, Price: float64(rng.IntN(10000)) / 100, Stock: rng.Int64N(40) - 20, Draft: rng.IntN(4) == 0, Category: []string{"", "tea", "coffee"}[rng.IntN(3)]}
			if rng.IntN(3) > 0 {
				v.Published = time.Unix(int64(1e9+i*1000), 0).UTC()
			}
			switch _, there := all[id]; {
			case there && rng.IntN(5) == 0:
				must(t, a.Delete(ctx, id))
				delete(all, id)
			default:
				must(t, a.Put(ctx, v))
				all[id] = v
			}
		}
		must(t, a.db.Flush(ctx))
		checkBoards(t, a, all)
	})
}

func TestBoard_TakesTheLongestIDThatARecordMayHave(t *testing.T) {
	eachStore(t, func(t *testing.T, a *articles) {
		ids := []string{strings.Repeat("x", plug.MaxID), strings.Repeat("山", plug.MaxID/9), "short"}
		for i, id := range ids {
			must(t, a.Create(ctx, &article{ID: id, Category: "go", Price: float64(i), Stock: int64(-i)}))
		}
		must(t, a.db.Flush(ctx))
		for name, board := range map[string]kvmodel.Lister[article]{"Cheapest": a.Cheapest, "TopStock": a.TopStock} {
			proof.NoDiff(t, cmp.Diff(ids, allOf(t, board, 2)), "%s", name)
		}
		err := a.Create(ctx, &article{ID: strings.Repeat("z", plug.MaxID+1)})
		if !errors.Is(err, kvmodel.ErrTooLarge) || !strings.HasSuffix(err.Error(), "an id of 2049 bytes, at most 2048") {
			t.Errorf("want an ErrTooLarge that names the limit, got %v", err)
		}
	})
}

func checkBoards(t *testing.T, a *articles, all map[string]*article) {
	t.Helper()
	members := slices.Sorted(maps.Keys(all))
	only := func(in func(*article) bool) []string {
		var some []string
		for _, id := range members {
			if in(all[id]) {
				some = append(some, id)
			}
		}
		return some
	}
	check := func(name string, l kvmodel.Lister[article], want []string, less func(a, b *article) bool) {
		t.Helper()
		got := allOf(t, l, 17)
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(got))); diff != "" {
			t.Errorf("%s: mismatch (-want +got):\n%s", name, diff)
			return
		}
		for i := 1; i < len(got); i++ {
			if less(all[got[i]], all[got[i-1]]) {
				t.Errorf("%s: %s stands before %s", name, got[i-1], got[i])
			}
		}
	}
	check("Cheapest", a.Cheapest, only(func(v *article) bool { return !v.Draft }), func(x, y *article) bool { return x.Price < y.Price })
	stock := func(ties ranking.Ties) func(x, y *article) bool {
		return func(x, y *article) bool {
			return x.Stock > y.Stock || ties == ranking.Newest && x.Stock == y.Stock && x.Made.After(y.Made)
		}
	}
	check("TopStock", a.TopStock, members, stock(a.stock))
	check("TopStock ascending", a.TopStock.Ascending(), members, func(x, y *article) bool { return stock(a.stock)(y, x) })
	check("Archive", a.Archive, only(func(v *article) bool { return !v.Published.IsZero() }), func(x, y *article) bool { return x.Published.After(y.Published) })
	for _, category := range []string{"tea", "coffee"} {
		check("by "+category, a.StockBy.Of(category), only(func(v *article) bool { return v.Category == category }), stock(a.others))
	}
	check("between", a.Cheapest.Between(10, 50), only(func(v *article) bool { return !v.Draft && v.Price >= 10 && v.Price < 50 }), func(x, y *article) bool { return x.Price < y.Price })
	must(t, a.Cheapest.Refresh(ctx))
	n, err := a.Cheapest.Between(10, 50).Count(ctx)
	if want := len(only(func(v *article) bool { return !v.Draft && v.Price >= 10 && v.Price < 50 })); n != want || err != nil {
		t.Errorf("count between: %d, %v; want %d", n, err, want)
	}
	report, err := a.TopStock.Verify(ctx, members...)
	if err != nil || len(report.Missing)+len(report.Wrong) > 0 || report.Members != len(members) {
		t.Errorf("verify: %+v, %v", report, err)
	}
}

func TestBoard_Numbered_IsAPageByItsNumber(t *testing.T) {
	eachStore(t, func(t *testing.T, a *articles) {
		for i := range 23 {
			must(t, a.Create(ctx, &article{ID: fmt.Sprint(i), Stock: int64(100 - i)}))
		}
		flush(t, a)
		at := 0
		for number := 1; number <= 3; number++ {
			page, err := a.TopStock.Numbered(ctx, number, 10)
			must(t, err)
			if page.Page != number || page.Pages != 3 || page.Total != 23 || len(page.Items) != min(10, 23-at) {
				t.Errorf("page %d: %+v", number, page)
			}
			for _, v := range page.Items {
				if v.ID != fmt.Sprint(at) {
					t.Errorf("page %d has %s where %d is due", number, v.ID, at)
				}
				at++
			}
		}
		page, err := a.TopStock.Numbered(ctx, 4, 10)
		if err != nil || len(page.Items) != 0 || page.Pages != 3 {
			t.Errorf("behind the last page: %+v, %v", page, err)
		}
		for _, wrong := range [][2]int{{0, 10}, {-1, 10}, {1, 0}, {1, 1001}} {
			if _, err := a.TopStock.Numbered(ctx, wrong[0], wrong[1]); !errors.Is(err, kvmodel.ErrInvalid) {
				t.Errorf("page %d of %d: %v, want ErrInvalid", wrong[0], wrong[1], err)
			}
		}
	})
}

func TestBoard_RefusesWhatItCannotRankAndWritesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, a *articles) {
		for _, price := range []float64{1e300, 1e18, -1e300} {
			proof.Is(t, a.Create(ctx, &article{ID: "x", Price: price}), kvmodel.ErrInvalid)
		}
		proof.Ends(t, kv.ErrNotFound)(a.Get(ctx, "x"))
		refused := map[string]error{
			"at rank 0":           refusal(a.Cheapest.At(ctx, 0, 1)),
			"a cursor of nothing": refusal(a.Cheapest.Page(ctx, "nonsense", 1)),
			"a prefix of numbers": refusal(a.TopStock.Prefix(3).Page(ctx, "", 10)),
			"the rank of NaN":     refusal(a.Cheapest.RankOf(ctx, math.NaN())),
			"between NaN":         refusal(a.Cheapest.Between(math.NaN(), 1).Page(ctx, "", 1)),
			"the last periods of a board without periods": func() error { _, _, err := a.TopViews.Last(ctx, 2, 3); return err }(),
		}
		for _, n := range []int{-1, 0, kvmodel.MaxPage + 1} {
			refused[fmt.Sprint(n, " at 1")] = refusal(a.Cheapest.At(ctx, 1, n))
			refused[fmt.Sprint(n, " around x")] = refusal(a.Cheapest.Around(ctx, "x", n))
		}
		for name, err := range refused {
			if !errors.Is(err, kvmodel.ErrInvalid) && !errors.Is(err, kvmodel.ErrBadCursor) || !strings.Contains(err.Error(), "Article.") {
				t.Errorf("%s: %v, want an error that names the board", name, err)
			}
		}
		proof.Ends(t, kv.ErrNotFound)(a.Cheapest.Rank(ctx, "x"))
	})
}

func refusal[V any](_ V, err error) error { return err }

func TestBoard_ThatCannotBeKeptIsRefused(t *testing.T) {
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	must(t, err)
	defer db.Close(ctx)
	views, schema := &counter{s: db.Store()}, articleSchema()
	schema.Expires = func(a *article) *time.Time { return &a.Published }
	expiring := kvmodel.NewRecords(db, schema)
	of := ranking.Int[int64]()
	for want, board := range map[string]func(){
		"ranking: Article.ByAField cannot rank records that expire: delete them when they end": func() {
			ranking.NewBoard(expiring, ranking.Spec[article, int64]{Name: "ByAField", Of: of, Score: func(a *article) int64 { return a.Stock }})
		},
		"ranking: Article.ByACounter cannot rank records that expire: delete them when they end": func() {
			ranking.NewBoard(expiring, ranking.Spec[article, int64]{Name: "ByACounter", Of: of, Counter: views})
		},
		"ranking: Counted cannot be of texts": func() {
			texts := ranking.Text[string](collation.Of(""))
			ranking.NewBoard(expiring, ranking.Spec[article, string]{Name: "Counted", Of: texts, Counter: views, Score: func(v *article) string { return v.Title }})
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, want) {
					t.Errorf("want %q, got %q", want, got)
				}
			}()
			board()
		}()
	}
}

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
		proof.Is(t, err, nil)
		proof.NoDiff(t, cmp.Diff(want[name], got), "%s", name)
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

func nodes(n ranking.Node) []ranking.Node {
	all := []ranking.Node{n}
	for _, below := range n.Below {
		all = append(all, nodes(below)...)
	}
	return all
}

func openStock(t *testing.T, s kv.Store, n int) *articles {
	t.Helper()
	ranking.SmallLeaves(t)
	a := openArticles(s, ranking.Windowed)
	t.Cleanup(func() { must(t, a.db.Close(ctx)) })
	for i := range n {
		must(t, a.Create(ctx, &article{ID: fmt.Sprint("a", i), Stock: int64(i)}))
	}
	flush(t, a)
	return a
}

func TestBoard_Picture_ShowsTheKeysThatAreStored(t *testing.T) {
	s := memkv.New(memkv.Options{})
	a := openStock(t, s, 0)
	empty, err := a.TopStock.Picture(ctx, 10, "a1")
	if err != nil || empty.Root.Key != "" || empty.Leaves[0] != "" {
		t.Errorf("picture of nothing: %+v, %v", empty, err)
	}
	a = openStock(t, still{s}, 60)
	must(t, a.TopStock.Refresh(ctx))
	p, err := a.TopStock.Picture(ctx, 1000, "a59", "nobody")
	if err != nil || p.Room != 4 || p.Root.Count != 60 || p.Root.Name != "key0" || p.Leaves[1] != "" {
		t.Fatalf("picture: %+v, %v", p, err)
	}
	var leaves, found int
	for _, n := range nodes(p.Root) {
		stored, err := kv.One(ctx, s, kv.OpGet(n.Key))
		if err != nil || !strings.HasSuffix(n.Key, ":"+n.Name) || n.Read && n.Bytes != len(stored.Value) {
			t.Errorf("%s of %d bytes is stored under %s with %d: %v", n.Name, n.Bytes, n.Key, len(stored.Value), err)
		}
		if !n.Closed && !n.Read {
			t.Errorf("%s was not read", n.Name)
		}
		if len(n.Below) == 0 {
			leaves += n.Count
		}
		if n.Name == p.Leaves[0] && len(n.Below) == 0 && n.Count > 0 {
			found++
		}
		for i, below := range n.Below {
			if want := n.Name + []string{"11", "10", "01", "00"}[i]; below.Name != want {
				t.Errorf("%s has %s below it, want %s", n.Name, below.Name, want)
			}
		}
	}
	if leaves != 60 || found != 1 {
		t.Errorf("leaves hold %d, and %d are that of a59; want 60 and 1", leaves, found)
	}
}

func TestBoard_Picture_ReadsTheNodesOnTheWayAndOthersUpToTheLimit(t *testing.T) {
	a := openStock(t, memkv.New(memkv.Options{}), 200)
	for _, limit := range []int{-1, 1, 5, 20} {
		p, err := a.TopStock.Picture(ctx, limit, "a100")
		must(t, err)
		read, way := 0, 0
		for _, n := range nodes(p.Root) {
			onWay := strings.HasPrefix(p.Leaves[0], n.Name)
			switch {
			case onWay && !n.Read:
				t.Errorf("limit %d: %s is on the way and was not read", limit, n.Name)
			case onWay:
				way++
			case n.Read:
				read++
			}
		}
		if way+read > max(limit, way) || limit == 20 && way+read != limit {
			t.Errorf("limit %d: %d nodes on the way and %d others", limit, way, read)
		}
	}
}

func TestBoard_Picture_OfAKnownTreeTakesThreeTripsAndTellsWhichNodesChanged(t *testing.T) {
	a := openStock(t, memkv.New(memkv.Options{}), 200)
	draw := func() (p ranking.Picture, states map[string]uint64, trips int) {
		metered, meter := kv.Metered(ctx)
		p, err := a.TopStock.Picture(metered, 1000, "a199")
		must(t, err)
		states = map[string]uint64{}
		for _, n := range nodes(p.Root) {
			states[n.Name] = n.State
		}
		return p, states, meter.Cost().Trips
	}
	first, before, _ := draw()
	again, _, trips := draw()
	if diff := cmp.Diff(first, again); diff != "" || len(before) < 50 || trips > 3 {
		t.Errorf("%d nodes in %d trips, want 50 in 3; the second picture (-want +got)\n%s", len(before), trips, diff)
	}
	update(t, a, "a199", func(v *article) { v.Stock++ })
	_, after, _ := draw()
	changed := 0
	for name, state := range after {
		if before[name] != state {
			changed++
		}
	}
	if leaf := first.Leaves[0]; before[leaf] == after[leaf] || changed > 8 {
		t.Errorf("want another state of %s and of few others, got %d of %d", leaf, changed, len(after))
	}
}
