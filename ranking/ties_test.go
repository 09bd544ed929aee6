package ranking_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

type runner struct {
	ID      string
	Teams   []string
	Points  int64
	Seconds float64
	Made    time.Time
	Cheers  int64 `json:"-"`
}

func (r *runner) merit() int64 { return r.Points + r.Cheers }

type runners struct {
	*kvmodel.Records[runner, string]
	db     *kvmodel.DB
	cheers *tally.Tally
	boards []*tiedBoard
	aDay   *ranking.Boards[runner, string, int64, string]
}

type tiedBoard struct {
	*ranking.Board[runner, string, int64]
	name  string
	ties  ranking.Ties
	low   bool
	team  string // "": all
	score func(*runner) int64
}

func runnerSchema() kvmodel.Schema[runner, string] {
	return kvmodel.Schema[runner, string]{
		Name: "Runner", Version: 1,
		ID:      func(v *runner) string { return v.ID },
		SetID:   func(v *runner, id string) { v.ID = id },
		Key:     kvmodel.StringKey[string](),
		Codec:   asJSON[runner]{},
		Created: func(v *runner) *time.Time { return &v.Made },
	}
}

func openRunners(t testing.TB, s kv.Store, opts ...kvmodel.Option) *runners {
	t.Helper()
	db, err := kvmodel.Open(s, append(opts, quiet)...)
	must(t, err)
	schema := runnerSchema()
	schema.Counters = []kvmodel.CounterOf[runner]{{Name: "Cheers", Set: func(v *runner, n int64) { v.Cheers = n }}}
	r := kvmodel.NewRecords(db, schema)
	m := &runners{Records: r, db: db, cheers: db.Tally("Runner", "Cheers")}
	by := kvmodel.By[runner, string]{Key: kvmodel.StringKey[string](), Values: func(v *runner) []string { return v.Teams }}
	points := func(v *runner) int64 { return v.Points }
	for _, ties := range []ranking.Ties{ranking.NoTies, ranking.Shared, ranking.Dense, ranking.Newest, ranking.Oldest} {
		for _, low := range []bool{false, true} {
			spec := func(name string) ranking.Spec[runner, int64] {
				return ranking.Spec[runner, int64]{
					Name: fmt.Sprint(name, ties, low), Of: ranking.Int[int64](),
					Low: low, Ties: ties, Made: func(v *runner) time.Time { return v.Made },
				}
			}
			add := func(b *ranking.Board[runner, string, int64], name, team string, score func(*runner) int64) {
				m.boards = append(m.boards, &tiedBoard{b, fmt.Sprintf("%s, ties %d, low %v", name, ties, low), ties, low, team, score})
			}
			field := spec("Points")
			field.Score = points
			add(ranking.NewBoard(r, field), "by a field", "", points)
			if low {
				continue
			}
			teams := spec("Teams")
			teams.Score = points
			add(ranking.NewBoards(r, teams, by).Of("red"), "by a field, of a team", "red", points)
			counted := spec("Cheers")
			counted.Counter = m.cheers
			add(ranking.NewBoard(r, counted), "by a counter", "", func(v *runner) int64 { return v.Cheers })
			method := counted
			method.Name, method.Score = fmt.Sprint("Merit", ties), (*runner).merit
			add(ranking.NewBoard(r, method), "by a method", "", (*runner).merit)
			if ties == ranking.Shared {
				counted.Name, teams.Name = "CheersOfTeams", "MeritOfTeams"
				add(ranking.NewBoards(r, counted, by).Of("red"), "by a counter, of a team", "red", func(v *runner) int64 { return v.Cheers })
				teams.Counter, teams.Score = m.cheers, (*runner).merit
				add(ranking.NewBoards(r, teams, by).Of("red"), "by a method, of a team", "red", (*runner).merit)
			}
			if ties == ranking.Newest {
				method.Name, method.Score, method.Per, method.Keep = "Daily", nil, ranking.Day, 3
				m.aDay = ranking.NewBoards(r, method, by)
			}
		}
	}
	t.Cleanup(func() {
		if err := db.Close(ctx); err != nil {
			t.Error("close:", err)
		}
	})
	return m
}

// before returns 0 where b may show either first.
func (b *tiedBoard) before(x, y *runner) int {
	score, made := cmp.Compare(b.score(y), b.score(x)), 0
	if b.low {
		score = -score
	}
	switch b.ties {
	case ranking.Newest:
		made = y.Made.Compare(x.Made)
	case ranking.Oldest:
		made = x.Made.Compare(y.Made)
	}
	return cmp.Or(score, made)
}

func (b *tiedBoard) rank(all []*runner, i int) int {
	if b.ties != ranking.Shared && b.ties != ranking.Dense {
		return i + 1
	}
	rank := 1
	for at := 1; at <= i; at++ {
		switch again := b.score(all[at]) == b.score(all[at-1]); {
		case !again && b.ties == ranking.Dense:
			rank++
		case !again:
			rank = at + 1
		}
	}
	return rank
}

func (b *tiedBoard) check(t *testing.T, all map[string]*runner) {
	t.Helper()
	var want []*runner
	for _, v := range all {
		if b.team == "" || slices.Contains(v.Teams, b.team) {
			want = append(want, v)
		}
	}
	slices.SortFunc(want, b.before)
	shown, ranks := b.pages(t, 7)
	if len(shown) != len(want) {
		t.Fatalf("%s: %d records are shown, want %d", b.name, len(shown), len(want))
	}
	for i, id := range shown {
		v := all[id]
		if v == nil || b.before(want[i], v) != 0 {
			t.Errorf("%s: at %d is %+v, where %+v should be", b.name, i+1, v, want[i])
			return
		}
		if should := b.rank(want, i); ranks[i] != should {
			t.Errorf("%s: %s has rank %d on its page, want %d", b.name, id, ranks[i], should)
		}
	}
	if !b.low {
		if back := b.backward(t); !slices.Equal(back, shown) {
			t.Errorf("%s: backward it shows\n%v, forward\n%v", b.name, back, shown)
		}
	}
	for i := 0; i < len(shown); i += 1 + len(shown)/5 {
		b.checkOne(t, shown, ranks, i)
		b.checkScore(t, want, b.score(want[i]))
		b.checkScore(t, want, b.score(want[i])+1)
	}
	if report, err := b.Verify(ctx, shown...); err != nil || report.Members != len(want) || report.Drift+report.Stale+report.Pending+len(report.Missing)+len(report.Wrong) > 0 {
		t.Errorf("%s: verify: %+v, %v", b.name, report, err)
	}
}

func (b *tiedBoard) pages(t *testing.T, n int) (ids []string, ranks []int) {
	t.Helper()
	var last, back []string
	var length int
	turn := ""
	for cursor, more := "", true; more; more = cursor != "" {
		table, err := b.Table(ctx, cursor, n)
		must(t, err)
		last = nil
		for _, p := range table.Places {
			last, ranks = append(last, p.Item.ID), append(ranks, p.Rank)
			proof.Equal(t, p.Score, b.score(p.Item), "%s: %s is shown with", b.name, p.Item.ID)
		}
		ids = append(ids, last...)
		cursor, turn, length = table.Next, table.Prev, table.Len
	}
	for cursor := turn; cursor != ""; {
		table, err := b.Table(ctx, cursor, n)
		must(t, err)
		some := kv.Texts(table.Places, func(p ranking.Place[runner, int64]) string { return p.Item.ID })
		back, cursor = append(some, back...), table.Prev
	}
	if !slices.Equal(append(back, last...), ids) || length != len(ids) {
		t.Errorf("%s: its pages show %v of %d, and from the last one back %v", b.name, ids, length, back)
	}
	return ids, ranks
}

// backward returns the ids from the lowest score up, turned around.
func (b *tiedBoard) backward(t *testing.T) (ids []string) {
	t.Helper()
	span := b.Ascending()
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := span.Page(ctx, cursor, 5)
		must(t, err)
		ids = append(ids, kv.Texts(page.Items, func(v *runner) string { return v.ID })...)
		cursor = page.Next
	}
	slices.Reverse(ids)
	return ids
}

func (b *tiedBoard) checkOne(t *testing.T, shown []string, ranks []int, i int) {
	t.Helper()
	if st, err := b.Standing(ctx, shown[i]); err != nil || st.Rank != ranks[i] || st.Len != len(shown) {
		t.Errorf("%s: %s stands at %+v, %v; want rank %d of %d", b.name, shown[i], st, err, ranks[i], len(shown))
	}
	for from, ask := range map[int]func() ([]ranking.Place[runner, int64], error){
		i:           func() ([]ranking.Place[runner, int64], error) { return b.At(ctx, i+1, 5) },
		max(0, i-3): func() ([]ranking.Place[runner, int64], error) { return b.Around(ctx, shown[i], 3) },
	} {
		places, err := ask()
		if err != nil || len(places) == 0 {
			t.Errorf("%s: from %d: %d, %v", b.name, from, len(places), err)
		}
		for j, p := range places {
			if from+j >= len(shown) || p.Item.ID != shown[from+j] || p.Rank != ranks[from+j] {
				t.Errorf("%s: %s is shown at %d with rank %d; want %v, %v", b.name, p.Item.ID, from+j, p.Rank, shown, ranks)
				break
			}
		}
	}
}

func (b *tiedBoard) checkScore(t *testing.T, all []*runner, score int64) {
	t.Helper()
	better := map[int64]int{}
	want := 1
	for _, v := range all {
		if s := b.score(v); s > score && !b.low || s < score && b.low {
			better[s]++
			want++
		}
	}
	if b.ties == ranking.Dense {
		want = len(better) + 1
	}
	if rank, err := b.RankOf(ctx, score); rank != want || err != nil {
		t.Errorf("%s: the score %d has rank %d, %v; want %d", b.name, score, rank, err, want)
	}
}

func eachRunners(t *testing.T, f func(t *testing.T, m *runners, c *proof.Clock)) {
	c := proof.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	eachKind(t, memkv.Options{Now: c.Now}, func(t *testing.T, s kv.Store, _ *memkv.Store) {
		ranking.SmallLeaves(t)
		f(t, openRunners(t, s, kvmodel.Clock(c.Now)), c)
	})
}

func TestBoard_Ties_StandAndRankAsTheySay(t *testing.T) {
	eachRunners(t, func(t *testing.T, m *runners, c *proof.Clock) {
		rng := seeded(t)
		for range proof.Size(45, 90) {
			id := fmt.Sprint("r", rng.IntN(50))
			must(t, m.db.Flush(ctx))
			c.Advance([]time.Duration{0, 0, 1, time.Millisecond, time.Hour, 40 * 24 * time.Hour}[rng.IntN(6)])
			v := &runner{ID: id, Teams: [][]string{{"red"}, {"blue", "red", "blue", ""}, {"blue"}, nil}[rng.IntN(4)], Points: []int64{0, 3, -3, 700, math.MaxInt64 - 9, math.MinInt64}[rng.IntN(6)]}
			var err error
			switch rng.IntN(4) {
			case 0:
				if err = m.Delete(ctx, id); errors.Is(err, kv.ErrNotFound) {
					err = nil
				}
			default:
				err = m.Put(ctx, v)
				if err == nil && rng.IntN(2) == 0 {
					_, err = m.cheers.Add(ctx, id, int64(rng.IntN(3)))
				}
			}
			must(t, err)
		}
		m.checkAll(t)
	})
}

func (m *runners) checkAll(t *testing.T) {
	t.Helper()
	must(t, m.db.Flush(ctx))
	all := map[string]*runner{}
	for v, err := range m.All(ctx) {
		must(t, err)
		all[v.ID] = v
	}
	for _, b := range m.boards {
		some := maps.Clone(all)
		if counts := b.score(&runner{Cheers: 1, Points: 5}) == 1; counts {
			for id := range all {
				counts, err := m.cheers.Counts(ctx, m.db.Store(), []string{kv.JoinText(id)})
				must(t, err)
				if counts[0] < 0 {
					delete(some, id)
				}
			}
		}
		b.check(t, some)
	}
}

func TestBoard_Ties_WhatWasMadeBeforeTimesWereKeptIsTheOldest(t *testing.T) {
	s := still{memkv.New(memkv.Options{})}
	open := func(created bool) (*kvmodel.DB, *kvmodel.Records[runner, string], map[ranking.Ties]*ranking.Board[runner, string, int64]) {
		db, err := kvmodel.Open(s, quiet)
		must(t, err)
		schema := runnerSchema()
		if !created {
			schema.Created = nil
		}
		r := kvmodel.NewRecords(db, schema)
		boards := map[ranking.Ties]*ranking.Board[runner, string, int64]{}
		for _, ties := range []ranking.Ties{ranking.Newest, ranking.Oldest} {
			boards[ties] = ranking.NewBoard(r, ranking.Spec[runner, int64]{
				Name: fmt.Sprint("Top", ties), Of: ranking.Int[int64](), Ties: ties,
				Score: func(v *runner) int64 { return v.Points }, Made: func(v *runner) time.Time { return v.Made },
			})
		}
		return db, r, boards
	}
	db, r, _ := open(false)
	must(t, r.Create(ctx, &runner{ID: "first", Points: 3}))
	must(t, db.Close(ctx))
	db, r, boards := open(true)
	must(t, r.Create(ctx, &runner{ID: "second", Points: 3}))
	_, err := r.Update(ctx, "first", func(v *runner) error { v.Seconds = 1; return nil })
	must(t, errors.Join(err, db.Flush(ctx)))
	for ties, want := range map[ranking.Ties][]string{ranking.Newest: {"second", "first"}, ranking.Oldest: {"first", "second"}} {
		page, err := boards[ties].Page(ctx, "", 5)
		must(t, err)
		if got := kv.Texts(page.Items, func(v *runner) string { return v.ID }); !slices.Equal(got, want) {
			t.Errorf("ties %d show %v, want %v", ties, got, want)
		}
	}
	must(t, db.Close(ctx))
}

func TestBoard_Last_EqualTotalsStandByWhenTheirRecordsWereMade(t *testing.T) {
	c := proof.NewClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	m := openRunners(t, memkv.New(memkv.Options{Now: c.Now}), kvmodel.Clock(c.Now))
	for _, id := range []string{"a", "b", "c", "d"} {
		c.Advance(time.Minute)
		must(t, m.Create(ctx, &runner{ID: id, Teams: []string{"red"}}))
	}
	for _, day := range []map[string]int64{{"a": 5, "b": 1, "c": 3, "d": 9}, {"b": 4, "c": 2}} {
		for id, n := range day {
			proof.Done(t)(m.cheers.Add(ctx, id, n))
		}
		must(t, m.db.Flush(ctx))
		c.Advance(24 * time.Hour)
	}
	places, off, err := m.aDay.Of("red").Last(ctx, 3, 10)
	must(t, err)
	got := kv.Texts(places, func(p ranking.Place[runner, int64]) string { return fmt.Sprint(p.Rank, p.Item.ID, p.Score) })
	if diff := gocmp.Diff([]string{"1d9", "2c5", "3b5", "4a5"}, got); diff != "" || off != 0 {
		t.Errorf("off %d, mismatch (-want +got):\n%s", off, diff)
	}
}

func TestBoard_Fit_NamesTiesThatMakeATreeDeep(t *testing.T) {
	ranking.SmallLeaves(t)
	synctest.Test(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		m := openRunners(t, mem)
		for i := range 100 {
			must(t, m.Create(t.Context(), &runner{ID: fmt.Sprint("r", i), Teams: []string{"a"}, Points: 7, Seconds: float64(i)}))
		}
		must(t, m.db.Flush(t.Context()))
		classes, _ := m.db.Windows()
		sights, err := classes[0].See(t.Context(), mem, []string{"r0", "r1", "r50"})
		must(t, err)
		deep := 0
		for k, w := range classes[0].Windows() {
			var some []plug.Standing
			for i := range sights {
				for _, place := range sights[i].Places[k] {
					some = append(some, plug.Standing{ID: sights[i].ID, Place: place})
				}
			}
			f, ok := w.(plug.Fitter)
			if !ok {
				continue
			}
			unfit, err := f.Fit(t.Context(), mem, some)
			must(t, err)
			tied := strings.Contains(w.Name(), fmt.Sprint(ranking.Newest)) || strings.Contains(w.Name(), fmt.Sprint(ranking.Oldest))
			if len(unfit) > 0 && !tied {
				t.Errorf("%s: %q", w.Name(), unfit)
			}
			deep += len(unfit)
		}
		if deep == 0 {
			t.Error("no board with ties is deep")
		}
		must(t, m.db.Close(t.Context()))
	})
}
