package keytree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var scoresOf = map[string]func(*rand.Rand, int) int64{
	"few":       func(r *rand.Rand, _ int) int64 { return r.Int64N(3) },
	"equal":     func(*rand.Rand, int) int64 { return 7 },
	"ascending": func(_ *rand.Rand, i int) int64 { return int64(i) },
	"wide":      func(r *rand.Rand, _ int) int64 { return r.Int64N(1 << 40) },
	"negative":  func(r *rand.Rand, _ int) int64 { return -r.Int64N(1000) },
	"both":      func(r *rand.Rand, _ int) int64 { return r.Int64N(200) - 100 },
	"zipf":      func(r *rand.Rand, _ int) int64 { return int64(rand.NewZipf(r, 1.2, 1, 1<<20).Uint64()) },
	"huge": func(r *rand.Rand, _ int) int64 {
		return []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}[r.IntN(8)]
	},
}

func tieOf(r *rand.Rand) uint64 {
	at := time.Date(2026, 3, 1, 0, 0, 0, r.IntN(3), time.UTC)
	return TieAt([]time.Time{at, at, at.AddDate(-1, 0, 0), {}, at.AddDate(300, 0, 0)}[r.IntN(5)])
}

func TestTree_AnswersAsASortedSliceDoes(t *testing.T) {
	all := slices.Sorted(maps.Keys(scoresOf))
	for _, c := range []struct {
		kind   string
		config func(*Config)
		scores []string
		sets   int
	}{
		{"plain", func(*Config) {}, all, 400},
		{"with ties", withTies, []string{"both", "equal", "few", "huge"}, 200},
		{"dense", dense, []string{"both", "equal", "few", "huge", "negative", "wide"}, 300},
	} {
		for _, scores := range c.scores {
			t.Run(c.kind+" "+scores, func(t *testing.T) {
				rng := seeded(t)
				r := open(newMem(), c.config)
				m := &model{scores: map[string]Score{}}
				for i := range proof.Size(100, c.sets) {
					id := idOf(rng.IntN(120))
					if rng.IntN(5) == 0 {
						delete(m.scores, id)
						r.remove(t, id)
					} else {
						m.scores[id] = FromInt(scoresOf[scores](rng, i))
						if r.Code != Signed {
							m.scores[id] = m.scores[id].WithTie(tieOf(rng))
						}
						r.setTo(t, id, m.scores[id])
					}
					m.order = r.orderOf(t)
					if i%100 == 99 {
						r.checkInvariants(t, slices.Sorted(maps.Keys(m.scores))...)
						r.checkCounts(t)
						checkQueries(t, r, m, rng)
					}
				}
				checkRanks(t, r, m)
			})
		}
	}
}

func checkRanks(t *testing.T, r *ranking, m *model) {
	t.Helper()
	for _, kind := range []Ranks{Single, Shared, Dense} {
		if kind == Dense && !r.Dense {
			continue
		}
		want := m.members()
		for _, down := range []bool{true, false} {
			checkRanksOf(t, r, m, want, down, kind)
			slices.Reverse(want)
		}
	}
}

func checkRanksOf(t *testing.T, r *ranking, m *model, want []string, down bool, kind Ranks) {
	t.Helper()
	var ranks []int
	first := map[Score]int{}
	for i, id := range want {
		n := m.scores[id].WithTie(0)
		rank, again := first[n]
		switch {
		case !again && kind == Dense:
			first[n] = len(first) + 1
		case !again:
			first[n] = i + 1
		}
		if rank == 0 || kind == Single {
			rank = i + 1
		}
		if kind == Dense {
			rank = first[n]
		}
		ranks = append(ranks, rank)
	}
	for i := 0; i < len(want); i += 1 + len(want)/9 {
		st, err := r.Standing(ctx, r.s, want[i], down, kind)
		if err != nil || st.Rank != ranks[i] || st.Total != len(want) {
			t.Errorf("%s has rank %d of %d, %v; want %d of %d, down %v, of kind %d", want[i], st.Rank, st.Total, err, ranks[i], len(want), down, kind)
		}
		part, err := r.At(ctx, r.s, i, 7, down, kind, Want{})
		proof.Is(t, err, nil)
		proof.NoDiff(t, cmp.Diff(ranks[i:min(i+7, len(want))], part.Ranks(kind)), "ranks from %d on", i)
		part, err = r.Around(ctx, r.s, want[i], 3, down, kind, Want{})
		proof.Is(t, err, nil)
		proof.NoDiff(t, cmp.Diff(ranks[max(0, i-3):min(i+4, len(want))], part.Ranks(kind)), "ranks around %d", i)
	}
	var shown []int
	for at, more := []byte(nil), true; more; more = at != nil {
		l, err := r.Page(ctx, r.s, Between{}, down, at, 9, Want{Placed: true})
		if err != nil {
			t.Fatal("page:", err)
		}
		shown, at = append(shown, l.Ranks(kind)...), l.Next
	}
	proof.NoDiff(t, cmp.Diff(ranks, shown), "ranks of pages, down %v, of kind %d:", down, kind)
	for s := range first {
		checkRankOf(t, r, m, s, down, kind)
		next := FromInt(s.Int() + 1) // One that wraps around is one of others.
		if s.word != "" {
			next = FromWord(strings.TrimSuffix(s.word, "\x00") + "\x01")
		}
		checkRankOf(t, r, m, next, down, kind)
	}
}

func checkRankOf(t *testing.T, r *ranking, m *model, score Score, down bool, kind Ranks) {
	t.Helper()
	better := map[Score]bool{}
	want := 1
	for _, other := range m.scores {
		other = other.WithTie(0)
		if c := other.Compare(score); c > 0 && down || c < 0 && !down {
			better[other] = true
			want++
		}
	}
	if kind == Dense {
		want = len(better) + 1
	}
	if got, err := r.RankOf(ctx, r.s, score, down, kind); got != want || err != nil {
		t.Errorf("the score %s has rank %d, %v; want %d, down %v, of kind %d", score.show(), got, err, want, down, kind)
	}
}

func checkQueries(t *testing.T, r *ranking, m *model, rng *rand.Rand) {
	t.Helper()
	want := m.members()
	for _, down := range []bool{true, false} {
		checkPages(t, r, want, down, 1+rng.IntN(10))
		for range 5 {
			if len(want) > 0 {
				checkMember(t, r, want, rng.IntN(len(want)), down)
			}
		}
		slices.Reverse(want)
	}
	for _, wide := range []int64{1, 2, 1 + rng.Int64N(100)} {
		low := m.scores[want[rng.IntN(len(want))]].WithTie(0)
		high := FromInt(low.Int() + wide)
		count := 0
		for _, score := range m.scores {
			if s := score.WithTie(0); s.Compare(low) >= 0 && s.Compare(high) < 0 {
				count++
			}
		}
		got, err := r.Count(ctx, r.s, Between{&low, &high})
		if err != nil || got != count {
			t.Errorf("count between %d and %d: %d, %v; want %d", low.Int(), high.Int(), got, err, count)
		}
	}
}

func checkPages(t *testing.T, r *ranking, want []string, down bool, n int) {
	t.Helper()
	var got, back []string
	var at, last []byte
	for first := true; first || at != nil; first = false {
		l, err := r.Page(ctx, r.s, Between{}, down, at, n, Want{})
		if err != nil {
			t.Fatal("page:", err)
		}
		got = append(got, names(l.Members)...)
		at, last = l.Next, l.Prev
	}
	proof.NoDiff(t, cmp.Diff(want, got), "pages of %d, down %v:", n, down)
	for at = last; at != nil; {
		l, err := r.Page(ctx, r.s, Between{}, down, at, n, Want{})
		if err != nil {
			t.Fatal("page back:", err)
		}
		back = append(names(l.Members), back...)
		at = l.Prev
	}
	if len(back) > 0 {
		if diff := cmp.Diff(want[:len(back)], back); diff != "" || len(want)-len(back) > n {
			t.Errorf("pages back of %d, down %v: mismatch (-want +got):\n%s", n, down, diff)
		}
	}
}

func checkMember(t *testing.T, r *ranking, want []string, at int, down bool) {
	t.Helper()
	st, err := r.Standing(ctx, r.s, want[at], down, Single)
	if err != nil || st.Before != at || st.Total != len(want) {
		t.Errorf("standing of %s: %d of %d, %v; want %d of %d", want[at], st.Before, st.Total, err, at, len(want))
	}
	part, err := r.At(ctx, r.s, at, 3, down, Single, Want{})
	proof.Is(t, err, nil)
	proof.NoDiff(t, cmp.Diff(want[at:min(at+3, len(want))], names(part.Members)), "at %d", at)
	part, err = r.Around(ctx, r.s, want[at], 3, down, Single, Want{})
	proof.Is(t, err, nil)
	proof.NoDiff(t, cmp.Diff(want[max(0, at-3):min(at+4, len(want))], names(part.Members)), "around %d", at)
	if place := slices.Index(names(part.Members), want[at]); part.Before+place != at {
		t.Errorf("around %d: the first is at %d, the member %d behind it", at, part.Before, place)
	}
}

// beaten is a store in which each write of a node loses four races.
type beaten struct {
	kv.Store
	times map[string]int
}

func (*beaten) Powers() kv.Powers { return kv.Powers{} }

func (b *beaten) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		op := &ops[i]
		if op.Kind != kv.CompareAndSwap || !strings.Contains(op.Key, ":key0") || b.times[op.Key] == 4 {
			_ = b.Store.Do(ctx, ops[i:i+1])
			continue
		}
		b.times[op.Key]++
		op.Result.Err = kv.ErrConflict
	}
	return kv.Unanswered(ops)
}

func TestTree_EditsThatLoseRacesPauseTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMem()
		var trees []*ranking
		for i := range 100 {
			r := open(store, func(c *Config) { c.Name = fmt.Sprint("t", i) })
			r.set(t, "first", 1)
			trees = append(trees, r)
		}
		s := &beaten{store, make(map[string]int)}
		began := time.Now()
		errs := kv.Each(ctx, s, trees, func(s kv.Store, _ int, r *ranking) error {
			_, err := r.Insert(ctx, s, "second", State{In: true, Score: FromInt(2), Ver: 2})
			return err
		})
		must(t, errors.Join(errs...))
		if took := time.Since(began); len(s.times) != len(trees) || took > 100*time.Millisecond {
			t.Errorf("%d edits that each lost four races took %v, longer than the longest pauses", len(s.times), took)
		}
	})
}

func TestTree_Has_ReadsANodeOnceForAllMembersBelowIt(t *testing.T) {
	r := open(newMem())
	ids := make([]string, 100)
	for i := range ids {
		ids[i] = fmt.Sprint("m", i)
		r.set(t, ids[i], int64(i))
	}
	report := r.checkInvariants(t, ids...)
	states, err := r.own.States(ctx, r.s, ids)
	must(t, err)
	states[7].Score = FromInt(1 << 20)

	metered, m := kv.Metered(ctx)
	has, err := r.Has(metered, kv.Count(r.s), ids, states)
	must(t, err)
	for i := range has {
		proof.Equal(t, has[i], (i != 7), "%s", ids[i])
	}
	if most := report.Leaves + report.Routers + 8; m.Cost().Ops > most {
		t.Errorf("%v for a tree of %d nodes", m.Cost(), report.Leaves+report.Routers)
	}
}

func TestTree_AnEdgeThatWasNotStoredIsStoredLater(t *testing.T) {
	s := plain{memkv.New(memkv.Options{})}
	now, away := time.Now(), false
	r := open(s, func(c *Config) {
		c.Now = func() time.Time { return now }
		c.Later = func(work func(context.Context, kv.Store) error) {
			if !away {
				_ = work(ctx, s)
			}
		}
	})
	top := func() {
		t.Helper()
		proof.Done(t)(r.Page(ctx, s, Between{}, true, nil, 1, Want{}))
	}
	r.set(t, idOf(0), 0)
	top()
	away = true
	grow(r)
	now = now.Add(2 * edgeEvery)
	top()
	away = false
	now = now.Add(2 * edgeEvery)
	top()
	other := open(s)
	if err := other.readEdge(ctx, s); err != nil || other.knownEdge().highest != r.knownEdge().highest || r.knownEdge().highest == "" {
		t.Errorf("the store has the edge %q, %v; want %q", other.knownEdge().highest, err, r.knownEdge().highest)
	}
}

func TestTree_ManyTriesOfAChange_DoNotSplitALeaf(t *testing.T) {
	r := open(newMem())
	r.set(t, "b", 1)
	for ver := range uint64(50) {
		proof.Done(t)(r.Insert(ctx, r.s, "a", State{In: true, Score: FromInt(1), Ver: 1 + ver}))
	}
	if report := r.checkInvariants(t, "b"); report.Leaves != 1 || report.Pending != 2 {
		t.Errorf("%d leaves, %d pending entries", report.Leaves, report.Pending)
	}
	r.set(t, "a", 1)
	r.wantClean(t, 2, "a", "b")
}

func TestTree_ThatAnUndoneTransactionHasMadeIsMadeByTheNext(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	r := open(mem, func(c *Config) { c.Atomic = true })
	undone := errors.New("undone")
	lost := false
	for _, end := range []error{undone, nil} {
		err := kv.PowersOf(mem).Atomic(ctx, func(s kv.Store) error {
			in := *r
			in.s = s
			if m := r.known(s); m != nil {
				t.Errorf("a transaction knows the tree as %+v, which is not there", m)
			}
			in.set(t, "a", 1)
			in.set(t, "b", 2)
			lost = lost || r.Lost()
			return end
		})
		if err != end {
			t.Fatal(err)
		}
	}
	if r.checkInvariants(t, "a", "b"); lost || r.Lost() {
		t.Error("the tree is said to have lost something")
	}
}

// wavering is a store with a memory that gets each key just after it was first asked for.
type wavering struct {
	kv.Store
	asked map[string]bool
}

func (w *wavering) Powers() kv.Powers { return kv.PowersOf(w.Store) }

func (w *wavering) Memory(context.Context) (kv.Memory, string) { return w, "" }

func (w *wavering) Recall(gets []kv.NearGet, results []kv.Result) bool {
	for i, get := range gets {
		r, err := kv.One(ctx, w.Store, kv.OpGet(get.Key))
		if !w.asked[get.Key] || err != nil {
			w.asked[get.Key] = true
			return false
		}
		r.Decoded, _, _ = get.Decode(r.Value)
		results[i] = r
	}
	return true
}

func TestTree_NodesThatComeIntoMemoryDuringAQueryAreWhatAReadFinds(t *testing.T) {
	query := func(r *ranking, s kv.Store, before int) (found Part, n int) {
		found, err := r.At(ctx, s, before, 7, true, Single, Want{})
		if err == nil {
			n, err = r.Count(ctx, s, Between{})
		}
		must(t, err)
		return found, n
	}
	for _, members := range []int{3, 20, 100} {
		r := open(newMem())
		for i := range members {
			r.set(t, fmt.Sprint("m", i), int64(i*i%37))
		}
		for before := 0; before < members; before += 9 {
			want, all := query(r, r.s, before)
			got, n := query(r, &wavering{Store: r.s, asked: map[string]bool{}}, before)
			if diff := cmp.Diff(want.Members, got.Members, cmp.AllowUnexported(Score{})); diff != "" || n != all {
				t.Errorf("%d of %d: counted %d, want %d (-want +got)\n%s", before, members, n, all, diff)
			}
		}
	}
}

func TestTree_AQueryMeetsTheEntriesThatAreStaleOrDead(t *testing.T) {
	now := time.Now()
	tree := open(memkv.New(memkv.Options{}), func(c *Config) { c.Now = func() time.Time { return now } })
	at := func(age time.Duration) uint64 { return uint64(now.Add(-age).UnixMilli()) }
	one, two := FromInt(1), FromInt(2)
	for what, c := range map[string]struct {
		e    entry
		st   State
		want []Doubt
	}{
		"it counts":                       {entry{one, 7, "a", false}, State{In: true, Score: one, Ver: 7}, nil},
		"the record has moved":            {entry{one, 7, "a", false}, State{In: true, Score: two, Ver: 7}, []Doubt{{ID: "a", Score: one}}},
		"the record is gone":              {entry{one, 7, "a", false}, State{Ver: 8}, []Doubt{{ID: "a", Score: one}}},
		"it may be about to commit":       {entry{one, at(0), "a", true}, State{}, nil},
		"its change is over":              {entry{one, at(2 * times.Overdue), "a", true}, State{}, []Doubt{{ID: "a", Score: one, Past: at(2 * times.Overdue)}}},
		"its record exists":               {entry{one, at(2 * times.Overdue), "a", true}, State{In: true, Score: two, Ver: 7}, nil},
		"its record is in no ranking":     {entry{one, at(2 * times.Overdue), "a", true}, State{Apart: true, Ver: 7}, nil},
		"it is another member's":          {entry{one, 7, "b", false}, State{Ver: 8}, nil},
		"it counts at an earlier version": {entry{one, at(0), "a", true}, State{In: true, Score: one, Ver: 7}, nil},
	} {
		var got []Doubt
		tree.meet([]entry{c.e}, "a", c.st, true, Want{Met: func(d Doubt) { got = append(got, d) }})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: met %v, want %v", what, got, c.want)
		}
	}
}

func TestTree_TakesIDsOfEveryLengthAndOfAnyBytes(t *testing.T) {
	r := open(newMem())
	var ids []string
	for b := range 256 {
		ids = append(ids, string([]byte{byte(b)}), string([]byte{'a', byte(b), 0}))
	}
	for n := 0; n <= MaxID; n += 1 + n/8 {
		ids = append(ids, strings.Repeat("x", n))
	}
	ids = append(ids, string(bytes.Repeat([]byte{0xff, ':', '\n'}, 600)), strings.Repeat("y", MaxID))
	for i, id := range ids {
		r.set(t, kv.JoinText(id)[:min(MaxID, len(kv.JoinText(id)))], int64(i%5))
	}
	proof.Is(t, r.change(strings.Repeat("x", MaxID+1), To(FromInt(0))), kv.ErrTooLarge)
	report := r.checkInvariants(t)
	all, err := pageThrough(r, true)
	must(t, err)
	if report.Members < 500 || report.Members != len(all) {
		t.Errorf("%d members, and %d in the nodes", report.Members, len(all))
	}
}

func TestTree_StaysShallowUnderEveryLoad(t *testing.T) {
	n := proof.Size(700, 6_000)
	for name, score := range map[string]func(i int) int64{
		"equal":      func(int) int64 { return 7 },
		"ascending":  func(i int) int64 { return int64(i) },
		"descending": func(i int) int64 { return int64(-i) },
		"extreme":    func(i int) int64 { return []int64{math.MinInt64, math.MaxInt64, 0, -1}[i%4] },
	} {
		t.Run(name, func(t *testing.T) {
			r := open(newMem(), func(c *Config) { c.Limit = 128 })
			for i := range n {
				r.set(t, fmt.Sprint("m", i), score(i))
			}
			report := r.checkInvariants(t)
			if report.Members != n || report.Depth > 42 {
				t.Errorf("%d members on %d levels", report.Members, report.Depth)
			}
			// The long path to an extreme score has empty leaves.
			if most := 5*n/128 + 300; report.Leaves > most {
				t.Errorf("%d leaves, want at most %d", report.Leaves, most)
			}
		})
	}
}

func TestTree_AfterAnyItemIsEvictedMendRepairsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i := 0; ; i += proof.Size(5, 1) {
			mem := memkv.New(memkv.Options{})
			r := open(plain{mem})
			var ids []string
			for i := range 60 {
				ids = append(ids, idOf(i))
				r.set(t, ids[i], int64(i%20))
			}
			keys := mem.Keys()
			slices.Sort(keys)
			if i >= len(keys) {
				return
			}
			drop(t, mem, keys[i])
			time.Sleep(time.Second) // A new tree begins with the time.
			checkEvicted(t, keys[i], open(plain{mem}), ids)
		}
	})
}

func (r *ranking) clear(ctx context.Context, doubtful []Doubt) error {
	for _, d := range doubtful {
		if err := r.Clear(ctx, r.s, r.own, d, new(Due)); err != nil {
			return err
		}
	}
	return nil
}

func checkEvicted(t *testing.T, key string, r *ranking, ids []string) {
	t.Helper()
	for _, down := range []bool{true, false} {
		if _, err := r.Page(ctx, r.s, Between{}, down, nil, 10, Want{}); err != nil && !errors.Is(err, kvmodel.ErrNeedsRebuild) {
			t.Errorf("without %s: page: %v", key, err)
		}
	}
	r.set(t, "new", 7)
	r.set(t, ids[3], 11)
	if err := r.mendAll(slices.Concat(ids, []string{"new"})...); err != nil {
		t.Fatalf("without %s: mend: %v", key, err)
	}
	r.checkCounts(t)
	want := len(ids) + 1
	if strings.Contains(key, ":i:") && key != r.own.Key(ids[3]) {
		want-- // Without its record, a member is not in.
	}
	report := r.checkInvariants(t, ids...)
	all, err := pageThrough(r, true)
	must(t, err)
	if report.Members != want || report.Stale+report.Pending+report.Lost > 0 || len(all) != want {
		t.Errorf("without %s: %+v, want %d members", key, report, want)
	}
}
