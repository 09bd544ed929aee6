package ranking_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

func hits(t *testing.T, a *articles, category string, counts map[string]int) {
	t.Helper()
	for id, n := range counts {
		if _, err := a.Upsert(ctx, id, func(v *article) error { v.Category = category; return nil }); err != nil {
			t.Fatal(err)
		}
		for range n {
			must(t, a.views.Hit(ctx, id))
		}
	}
}

func TestBoard_ByACounterIsExactAfterFlushAndRefresh(t *testing.T) {
	for name, batch := range map[string]ranking.Batch{"windowed": ranking.Windowed, "every": ranking.Every} {
		t.Run(name, func(t *testing.T) {
			s := memkv.New(memkv.Options{})
			rng := seeded(t)
			counts := map[string]int64{}
			var mu sync.Mutex
			var processes []*articles
			for range 3 {
				processes = append(processes, openArticles(plain{s}, batch))
			}
			for i := range 60 {
				must(t, processes[0].Create(ctx, &article{ID: fmt.Sprint("a", i)}))
			}
			var wg sync.WaitGroup
			for _, p := range processes {
				seed := rng.Int64()
				wg.Go(func() {
					for i := range int64(150) {
						id := fmt.Sprint("a", (seed+i*i*7)%60&63)
						proof.Is(t, p.views.Hit(ctx, id), nil)
						mu.Lock()
						counts[id]++
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			for _, p := range processes {
				must(t, p.db.Flush(ctx))
			}
			checkCounted(t, processes[0], counts)
			for _, p := range processes {
				_ = p.db.Close(ctx)
			}
		})
	}
}

func checkCounted(t *testing.T, a *articles, counts map[string]int64) {
	t.Helper()
	must(t, a.TopViews.Refresh(ctx))
	var want []int64
	for id, n := range counts {
		if _, err := a.Get(ctx, id); err == nil {
			want = append(want, n)
		}
	}
	slices.Sort(want)
	slices.Reverse(want)
	places, err := a.TopViews.At(ctx, 1, 1000)
	must(t, err)
	var got []int64
	for i, p := range places {
		got = append(got, p.Score)
		proof.Equal(t, p.Score, counts[p.Item.ID], "%s stands at", p.Item.ID)
		if rank, err := a.TopViews.Rank(ctx, p.Item.ID); rank != i+1 || err != nil {
			t.Errorf("%s has rank %d, %v; want %d", p.Item.ID, rank, err, i+1)
		}
	}
	proof.NoDiff(t, cmp.Diff(want, got), "scores:")
}

func TestBoard_ByACounterHoldsWhatTheRecordsSay(t *testing.T) {
	eachStore(t, func(t *testing.T, a *articles) {
		hits(t, a, "tea", map[string]int{"a": 3, "b": 5, "c": 1})
		flush(t, a)
		want(t, allOf(t, a.TopViews, 2), "b", "a", "c")
		want(t, allOf(t, a.ViewsADay.Of("tea"), 2), "b", "a", "c")

		update(t, a, "b", func(v *article) { v.Draft = true })
		want(t, allOf(t, a.TopViews, 2), "a", "c")
		update(t, a, "b", func(v *article) { v.Draft = false })
		want(t, allOf(t, a.TopViews, 2), "b", "a", "c")

		update(t, a, "b", func(v *article) { v.Category = "coffee" })
		want(t, allOf(t, a.ViewsADay.Of("tea"), 2), "a", "c")
		want(t, allOf(t, a.ViewsADay.Of("coffee"), 2), "b")

		must(t, a.Delete(ctx, "a"))
		flush(t, a)
		want(t, allOf(t, a.TopViews, 2), "b", "c")
		want(t, allOf(t, a.ViewsADay.Of("tea"), 2), "c")
		proof.Ends(t, kv.ErrNotFound)(a.TopViews.Rank(ctx, "a"))
	})
}

func TestBoard_ByACounterIsNotAskedAboutANewID(t *testing.T) {
	eachKind(t, memkv.Options{}, func(t *testing.T, s kv.Store, mem *memkv.Store) {
		a := openArticles(s, ranking.Windowed)
		defer a.db.Close(ctx)
		asked := func() bool {
			flush(t, a)
			return slices.ContainsFunc(mem.Keys(), func(key string) bool {
				return strings.HasPrefix(key, "rank:Article:TopViews:")
			})
		}
		for range 3 {
			must(t, a.Create(ctx, &article{Category: "tea"}))
		}
		if asked() {
			t.Error("a record with a new id was looked for on the board")
		}
		proof.Done(t)(kv.Next(ctx, mem, a.views.key("given"), 0, 7))
		must(t, a.Create(ctx, &article{ID: "given", Category: "tea"}))
		if !asked() {
			t.Error("a record with an id that was given was not looked for on the board")
		}
		want(t, allOf(t, a.TopViews, 2), "given")
	})
}

func flush(t *testing.T, a *articles) {
	t.Helper()
	if err := a.db.Flush(ctx); err != nil {
		t.Fatal("flush:", err)
	}
}

func update(t *testing.T, a *articles, id string, f func(*article)) {
	t.Helper()
	if _, err := a.Update(ctx, id, func(v *article) error { f(v); return nil }); err != nil {
		t.Fatal(err)
	}
	flush(t, a)
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	proof.NoDiff(t, cmp.Diff(want, got), "mismatch")
}

func TestBoards_ARecordLeavesThoseOfAllPeriods(t *testing.T) {
	c := proof.NewClock(time.Date(2025, 3, 30, 23, 0, 0, 0, time.UTC))
	eachKind(t, memkv.Options{Now: c.Now}, func(t *testing.T, s kv.Store, _ *memkv.Store) {
		a := openArticles(s, ranking.Windowed, kvmodel.Clock(c.Now))
		defer a.db.Close(ctx)
		hits(t, a, "tea", map[string]int{"a": 3, "b": 2, "c": 1})
		first := c.Now()
		c.Advance(2 * time.Hour)
		is := func(category string, want ...string) {
			t.Helper()
			flush(t, a)
			board := a.ViewsADay.On(first).Of(category)
			places, err := board.At(ctx, 1, 9)
			var got []string
			for _, p := range places {
				got = append(got, p.Item.ID)
			}
			proof.Is(t, err, nil)
			proof.NoDiff(t, cmp.Diff(want, got), "%s", category)
			if n, err := board.Len(ctx); n != len(want) || err != nil {
				t.Errorf("%s has %d, %v; want %d", category, n, err, len(want))
			}
		}
		is("tea", "a", "b", "c")
		must(t, a.Delete(ctx, "a"))
		is("tea", "b", "c")
		update(t, a, "c", func(v *article) { v.Category = "coffee" })
		is("tea", "b")
		is("coffee", "c")
		must(t, a.Put(ctx, &article{ID: "a", Category: "tea"}))
		is("tea", "a", "b")
		c.Advance(22 * time.Hour) // The next store begins an hour before midnight, too.
	})
}

func TestBoards_OfAPeriodCountOnlyThatPeriod(t *testing.T) {
	c := proof.NewClock(time.Date(2025, 3, 30, 23, 0, 0, 0, time.UTC))
	s := memkv.New(memkv.Options{Now: c.Now})
	a := openArticles(s, ranking.Windowed, kvmodel.Clock(c.Now))
	defer a.db.Close(ctx)
	hits(t, a, "tea", map[string]int{"a": 3, "b": 1})
	first := c.Now()
	c.Advance(2 * time.Hour)
	hits(t, a, "tea", map[string]int{"b": 4, "c": 2})
	flush(t, a)
	want(t, allOf(t, a.ViewsADay.Of("tea"), 10), "b", "c")
	want(t, allOf(t, a.ViewsADay.On(first).Of("tea"), 10), "a", "b")
	want(t, allOf(t, a.TopViews, 10), "b", "a", "c")
	want(t, allOf(t, a.ViewsADay.On(first.AddDate(0, 0, 5)).Of("tea"), 10))

	c.Advance(3*24*time.Hour - 2*time.Hour)
	want(t, allOf(t, a.ViewsADay.On(first).Of("tea"), 10))
	c.Advance(7 * 24 * time.Hour)
	for _, key := range s.Keys() {
		if r, err := kv.One(ctx, s, kv.OpGet(key)); err == nil && isOfPeriod(key) {
			t.Errorf("%s is left of a period: %d bytes", key, len(r.Value))
		}
	}
}

func isOfPeriod(key string) bool {
	return len(key) > 4 && (key[:4] == "per:" || key[:5] == "rank:" && key[5:17] == "Article:TopV" && key[17:19] == "#h")
}

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
	days := make([]map[string]int64, 3)
	for d := range days {
		days[d] = map[string]int64{"steady": 50}
		for i := range 60 {
			days[d][fmt.Sprintf("day%d-%02d", d, i)] = int64(110 - i)
		}
	}
	a := openDays(t, days...)
	defer a.db.Close(ctx)

	places, off := lastOf(t, a, 3, 5)
	if diff := cmp.Diff(totalsOf(5, days...), scoresOf(places)); diff != "" || off != 0 || places[0].Item.ID != "steady" {
		t.Errorf("off by %d, the first is %s, mismatch (-want +got):\n%s", off, places[0].Item.ID, diff)
	}
}

func lastOf(t *testing.T, a *articles, periods, n int) ([]ranking.Place[article, int64], int64) {
	t.Helper()
	board := a.ViewsADay.Of("tea")
	places, off, err := board.Last(ctx, periods, n)
	if err != nil || len(places) != n {
		t.Fatalf("%d places, %v; want %d", len(places), err, n)
	}
	metered, meter := kv.Metered(ctx)
	if _, _, err := board.Last(metered, periods, n); err != nil || meter.Cost().Trips > 6 {
		t.Errorf("%d trips, %v; want at most 6", meter.Cost().Trips, err)
	}
	return places, off
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
	// Of each day, 64 are read; the records of every day follow after 90.
	places, off := lastOf(t, a, 3, 2)
	if missing := int64(30) - places[1].Score; off < missing || off > 33-places[1].Score {
		t.Errorf("off by %d, and the totals are %v; a record that is missing has 30", off, scoresOf(places))
	}
	// Of 128, some are seen on more than one day. None of the others has more than 31.
	places, off = lastOf(t, a, 3, 4)
	if diff := cmp.Diff([]int64{30, 30, 30, 30}, scoresOf(places)); diff != "" || off != 1 {
		t.Errorf("off by %d, want 1; mismatch (-want +got):\n%s", off, diff)
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
			places, off := lastOf(t, a, periods, n)
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

type talk struct {
	ID           string
	Born         float64
	Topic        string
	Votes, Views int64 `json:"-"`
	Fans         int64 `json:"-"` // a derived count
}

func (t *talk) heat() float64 { return math.Sqrt(t.Born) + float64(10*t.Votes+t.Views+10*t.Fans) }

type talks struct {
	*kvmodel.Records[talk, string]
	db           *kvmodel.DB
	votes, views *tally.Tally
	fans         *tally.Derived
	Front        *ranking.Board[talk, string, float64]
	ByTopic      *ranking.Boards[talk, string, float64, string]
	Top          *ranking.Board[talk, string, int64]
}

func openTalks(t *testing.T, s kv.Store, batch ranking.Batch) *talks {
	db, err := kvmodel.Open(s, quiet)
	must(t, err)
	r := kvmodel.NewRecords(db, kvmodel.Schema[talk, string]{
		Name: "Talk", Version: 1,
		ID:    func(v *talk) string { return v.ID },
		SetID: func(v *talk, id string) { v.ID = id },
		Key:   kvmodel.StringKey[string](),
		Codec: asJSON[talk]{},
		Counters: []kvmodel.CounterOf[talk]{
			{Name: "Votes", Set: func(v *talk, n int64) { v.Votes = n }},
			{Name: "Views", Set: func(v *talk, n int64) { v.Views = n }},
			{Name: "Fans", Derived: true, Set: func(v *talk, n int64) { v.Fans = n }},
		},
	})
	votes, views, fans := db.Tally("Talk", "Votes"), db.Tally("Talk", "Views"), db.Derived("Talk", "Fans")
	spec := ranking.Spec[talk, float64]{
		Name: "Front", Of: ranking.Float[float64](), Score: (*talk).heat,
		Counter: votes, Also: []ranking.Counter{views, fans}, Batch: batch,
	}
	byTopic := spec
	byTopic.Name = "FrontByTopic"
	m := &talks{
		Records: r, db: db, votes: votes, views: views, fans: fans,
		Front: ranking.NewBoard(r, spec),
		Top: ranking.NewBoard(r, ranking.Spec[talk, int64]{
			Name: "TopVotes", Of: ranking.Int[int64](), Counter: votes, Batch: batch,
		}),
		ByTopic: ranking.NewBoards(r, byTopic, kvmodel.By[talk, string]{
			Key: kvmodel.StringKey[string](), Value: func(v *talk) string { return v.Topic },
		}),
	}
	t.Cleanup(func() {
		if err := db.Close(ctx); err != nil {
			t.Error("close:", err)
		}
	})
	return m
}

func eachTalks(t *testing.T, f func(t *testing.T, m *talks)) {
	for name, batch := range map[string]ranking.Batch{"windowed": ranking.Windowed, "every": ranking.Every} {
		t.Run(name, func(t *testing.T) {
			eachKind(t, memkv.Options{}, func(t *testing.T, s kv.Store, _ *memkv.Store) { f(t, openTalks(t, s, batch)) })
		})
	}
}

func (m *talks) shows(t *testing.T, l kvmodel.Lister[talk], want ...string) {
	t.Helper()
	if err := m.db.Flush(ctx); err != nil {
		t.Fatal("flush:", err)
	}
	page, err := l.Page(ctx, "", 10)
	if err != nil {
		t.Fatal("page:", err)
	}
	if got := kv.Texts(page.Items, func(v *talk) string { return v.ID }); !slices.Equal(got, want) {
		t.Errorf("it shows %v, want %v", got, want)
	}
}

func (m *talks) count(t *testing.T, tally *tally.Tally, id string, delta int64) {
	t.Helper()
	proof.Done(t)(tally.Add(ctx, id, delta))
}

func TestBoard_ByAMethodFollowsTheRecordAndEachOfItsCounters(t *testing.T) {
	eachTalks(t, func(t *testing.T, m *talks) {
		for i, id := range []string{"a", "b", "c"} {
			must(t, m.Create(ctx, &talk{ID: id, Born: float64(i), Topic: "tea"}))
		}
		m.shows(t, m.Front, "c", "b", "a")
		m.count(t, m.votes, "a", 1)
		m.shows(t, m.Front, "a", "c", "b")
		m.count(t, m.views, "b", 20)
		m.shows(t, m.Front, "b", "a", "c")

		born := func(id string, at float64) {
			t.Helper()
			if _, err := m.Update(ctx, id, func(v *talk) error { v.Born = at; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		born("c", 10000)
		m.shows(t, m.Front, "c", "b", "a")
		m.shows(t, m.ByTopic.Of("tea"), "c", "b", "a")
		must(t, m.Delete(ctx, "b"))
		m.shows(t, m.Front, "c", "a")

		places, err := m.Front.At(ctx, 1, 5)
		if err != nil || len(places) != 2 || places[1].Score != 10 || places[1].Item.Votes != 1 {
			t.Errorf("places: %+v, %v", places, err)
		}
		proof.Is(t, m.Create(ctx, &talk{ID: "d", Born: -1}), kvmodel.ErrInvalid)
	})
}

func TestDerived_NotifiesFollowersAfterATransaction(t *testing.T) {
	eachTalks(t, func(t *testing.T, m *talks) {
		for _, id := range []string{"a", "b"} {
			must(t, m.Create(ctx, &talk{ID: id}))
		}
		step := func(ctx context.Context, s kv.Store) error {
			m.fans.Begin(ctx, s, "a")
			n, err := m.fans.Add(ctx, s, "a", 3)
			m.fans.Tell(ctx, s, "a", 3, n)
			return err
		}
		if atomic := kv.PowersOf(m.db.Store()).Atomic; atomic != nil {
			inside := step
			step = func(ctx context.Context, _ kv.Store) error {
				return atomic(ctx, func(s kv.Store) error { return inside(ctx, s) })
			}
		}
		must(t, step(ctx, m.db.Store()))
		m.shows(t, m.Front, "a", "b")
		if rank, err := m.Front.Rank(ctx, "a"); rank != 1 || err != nil {
			t.Errorf("rank %d, %v; want 1", rank, err)
		}
	})
}

// missed counts without the boards, as a process does that dies before it writes what it has
// gathered.
func missed(t *testing.T, s kv.Store, id string, n int64) {
	t.Helper()
	proof.Done(t)(kv.Next(ctx, s, tally.Key("Talk", "Votes", kv.JoinText(id)), 0, n))
}

func TestBoard_CatchesUpWithCountsItMissed(t *testing.T) {
	eachTalks(t, func(t *testing.T, m *talks) {
		for _, id := range []string{"a", "b", "c"} {
			must(t, m.Create(ctx, &talk{ID: id, Topic: "tea"}))
			m.count(t, m.votes, id, int64(1+id[0]-'a'))
		}
		m.shows(t, m.ByTopic.Of("tea"), "c", "b", "a")
		missed(t, m.db.Store(), "a", 8)
		m.shows(t, m.ByTopic.Of("tea"), "c", "b", "a")
		proof.Done(t)(m.ByTopic.Of("tea").Mend(ctx, "a", "b", "c"))
		m.shows(t, m.ByTopic.Of("tea"), "a", "c", "b")
		m.shows(t, m.Top, "c", "b", "a")
		missed(t, m.db.Store(), "b", 20)
		must(t, m.Rebuild(ctx))
		m.shows(t, m.Front, "b", "a", "c")
		m.shows(t, m.Top, "b", "a", "c")
	})
}

func TestBoard_ByAMethodTakesTheCountersOfARecordFromNoEdit(t *testing.T) {
	edits := map[string]func(m *talks, v talk) error{
		"put": func(m *talks, v talk) error { return m.Put(ctx, &v) },
		"updated": func(m *talks, v talk) error {
			_, err := m.Update(ctx, v.ID, func(old *talk) error { *old = v; return nil })
			return err
		},
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			eachTalks(t, func(t *testing.T, m *talks) {
				for _, v := range []talk{{ID: "a", Born: 100}, {ID: "b", Born: 625}} {
					must(t, m.Create(ctx, &v))
				}
				m.count(t, m.votes, "a", 1)
				m.shows(t, m.Front, "b", "a") // 25 to 20

				// Without its vote it would be at 20 again.
				must(t, edit(m, talk{ID: "a", Born: 400}))
				m.shows(t, m.Front, "a", "b") // 30 to 25
			})
		})
	}
}
