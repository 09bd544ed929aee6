package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type ballot struct {
	ID    string
	Story string
	Value int64
	N     int
}

type ballots struct {
	*kvmodel.Records[ballot, string]
	db      *kvmodel.DB
	ByStory *index.Lists[ballot, string, string]
}

var ballotSchema = schemaOf("Ballot", func(b *ballot) *string { return &b.ID })

func newBallots(db *kvmodel.DB) *ballots {
	r := kvmodel.NewRecords(db, ballotSchema)
	return &ballots{r, db, index.NewLists(r, kvmodel.IndexSpec[ballot, string]{
		Name: "ByStory", Def: "list Story string", Fields: []string{"Story"}, Key: kvmodel.StringKey[string](),
		Values: func(b *ballot) []string { return []string{b.Story} },
	},
		index.Counted("Story", "Votes"),
		index.CountedIf("Story", "Against", "Bad", func(b *ballot) bool { return b.Value < 0 }),
		index.Summed("Story", "Score", "Value", func(b *ballot) int64 { return b.Value }),
	)}
}

// figures are the votes, those against and the score of a story.
type figures [3]int64

func figuresIn(t testing.TB, ctx context.Context, db *kvmodel.DB, s kv.Store, story string) (all figures) {
	t.Helper()
	for i, d := range []*tally.Derived{db.Derived("Story", "Votes"), db.Derived("Story", "Against"), db.Sum("Story", "Score")} {
		counts, err := d.Counts(ctx, s, []string{story})
		must(t, err)
		if counts[0] != tally.None {
			all[i] = counts[0]
		}
	}
	return all
}

// figuresOf returns the sums over the records of b, by story.
func figuresOf(t testing.TB, ctx context.Context, b *ballots) map[string]figures {
	t.Helper()
	all := make(map[string]figures)
	for v, err := range b.All(ctx) {
		must(t, err)
		f := all[v.Story]
		f[0]++
		f[2] += v.Value
		if v.Value < 0 {
			f[1]++
		}
		all[v.Story] = f
	}
	return all
}

func TestSummed_FollowsEachChangeOfAValueAndOfItsTarget(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
		b := newBallots(open(t, s))
		want := func(what, story string, want figures) {
			t.Helper()
			proof.Equal(t, figuresIn(t, ctx, b.db, mem, story), want, "after %s the story %s", what, story)
		}
		must(t, b.Create(ctx, &ballot{ID: "ann", Story: "x", Value: 1}))
		must(t, b.Create(ctx, &ballot{ID: "bob", Story: "x", Value: -3}))
		want("two votes", "x", figures{2, 1, -2})
		set := func(id string, change func(*ballot)) {
			proof.Done(t)(b.Update(ctx, id, func(v *ballot) error { change(v); return nil }))
		}
		set("ann", func(v *ballot) { v.Value = -1 })
		want("a change of mind", "x", figures{2, 2, -4})
		set("bob", func(v *ballot) { v.N++ })
		want("a change of something else", "x", figures{2, 2, -4})
		set("bob", func(v *ballot) { v.Story = "y"; v.Value = 7 })
		want("a move", "x", figures{1, 1, -1})
		want("a move", "y", figures{1, 0, 7})
		if in, err := b.ByStory.Of("y").Contains(ctx, "bob"); err != nil || !in {
			t.Error("the list of y does not contain bob:", err)
		}
		must(t, b.Delete(ctx, "ann"))
		want("a deletion", "x", figures{})
		err := b.Create(ctx, &ballot{ID: "eve", Story: "x", Value: index.MaxSummand + 1})
		proof.Is(t, err, kvmodel.ErrInvalid)
		want("a value that is too large", "x", figures{})
		must(t, b.db.Flush(ctx))
		page, err := b.ByStory.Of("y").Page(ctx, "", 10)
		must(t, err)
		if n, err := b.ByStory.Of("y").Count(ctx); len(page.Items) != 1 || n != 1 || err != nil {
			t.Errorf("the list of y has %d items and counts %d, %v", len(page.Items), n, err)
		}
	})
}

func TestSummed_ABatchCountsInListsThatItBeginsAndInOthers(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	b := newBallots(open(t, mem))
	batch := func(first int) (all []*ballot) {
		for i := range 6 {
			all = append(all, &ballot{ID: fmt.Sprint(first + i), Story: []string{"new", "left"}[i%2], Value: int64(i - 2)})
		}
		return all
	}
	// A number may outlive its list.
	must(t, mem.Do(ctx, []kv.Op{kv.OpSet(b.db.Derived("Story", "Votes").Key("left"), fmt.Append(nil, 1<<40))}))
	must(t, b.CreateMulti(ctx, batch(0)))
	want := map[string]figures{"new": {3, 1, 0}, "left": {3, 1, 3}}
	for story, n := range want {
		if got := figuresIn(t, ctx, b.db, mem, story); got != n {
			t.Errorf("%s: after a batch that begins its list, %v, want %v", story, got, n)
		}
	}
	must(t, b.CreateMulti(ctx, batch(6)))
	for story, n := range want {
		if got := figuresIn(t, ctx, b.db, mem, story); got != (figures{2 * n[0], 2 * n[1], 2 * n[2]}) {
			t.Errorf("%s: after a second batch, %v, want twice %v", story, got, n)
		}
	}
}

func TestSummed_RebuildCorrectsTheSumAndTheNotes(t *testing.T) {
	for kind, as := range map[string]func(*memkv.Store) kv.Store{
		"atomic": func(mem *memkv.Store) kv.Store { return shared{mem} },
		"plain":  func(mem *memkv.Store) kv.Store { return still{mem} },
	} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, mem := t.Context(), memkv.New(memkv.Options{})
				// the first release has the list without the sum
				r := kvmodel.NewRecords(open(t, as(mem)), ballotSchema)
				index.NewLists(r, kvmodel.IndexSpec[ballot, string]{
					Name: "ByStory", Def: "list Story string", Fields: []string{"Story"}, Key: kvmodel.StringKey[string](),
					Values: func(b *ballot) []string { return []string{b.Story} },
				})
				for i := range 120 {
					must(t, r.Create(ctx, &ballot{ID: fmt.Sprint(i), Story: fmt.Sprint("s", i%3), Value: int64(i%5 - 2)}))
				}
				must(t, r.DB().Close(ctx))
				b := newBallots(open(t, as(mem)))
				must(t, b.Rebuild(ctx))
				check := func(what string) {
					t.Helper()
					for story, want := range figuresOf(t, ctx, b) {
						proof.Equal(t, figuresIn(t, ctx, b.db, mem, story), want, "%s: the story %s", what, story)
					}
				}
				check("a sum was added")
				proof.Done(t)(kv.One(ctx, mem, kv.OpSet("c:Story:Score:s1", []byte("99"))))
				mem.Evict("c:Story:Score:s2")
				begun := time.Now()
				must(t, b.Rebuild(ctx))
				check("a number was damaged and one was lost")
				if took := time.Since(begun); kind == "atomic" && took != 0 || took > 20*time.Second {
					t.Errorf("the rebuild took %v", took)
				}
				must(t, b.db.Close(ctx))
			})
		})
	}
}

func changeBallots(sim *kvtest.Sim, s kv.Store, rng *rand.Rand, n int) {
	b := openBallots(s)
	for range n {
		id, story := sweepIDs[rng.IntN(len(sweepIDs))], sweepTags[rng.IntN(len(sweepTags))]
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		var err error
		switch rng.IntN(8) {
		case 0, 1:
			err = b.Create(ctx, &ballot{ID: id, Story: story, Value: rng.Int64N(7) - 3})
		case 2, 3, 4:
			_, err = b.Update(ctx, id, func(v *ballot) error { v.Value = rng.Int64N(7) - 3; return nil })
		case 5:
			_, err = b.Update(ctx, id, func(v *ballot) error { v.N++; return nil })
		case 6:
			_, err = b.Update(ctx, id, func(v *ballot) error { v.Story = story; v.Value++; return nil })
		case 7:
			err = b.Delete(ctx, id)
		}
		if errors.Is(err, kvmodel.ErrCorrupt) {
			sim.T().Error(err)
		}
		cancel()
	}
	leave(b.db)
}

func openBallots(s kv.Store) *ballots {
	b := newBallots(openQuiet(s))
	*b.ByStory.Limits() = memberlog.Limits{Split: 60, Merge: 30, Slack: 20, Look: 60, Grace: 24 * time.Hour}
	return b
}

func checkBallots(sim *kvtest.Sim, b *ballots, when string) {
	ctx := context.Background()
	all := figuresOf(sim.T(), ctx, b)
	for _, story := range sweepTags {
		if got := figuresIn(sim.T(), ctx, b.db, sim.Store(), story); got != all[story] {
			sim.T().Errorf("%s the story %s has %v, want %v", when, story, got, all[story])
		}
	}
}

func sweepBallots(t *testing.T, powers kvtest.Powers) {
	change := func(sim *kvtest.Sim, s kv.Store, rng *rand.Rand) { changeBallots(sim, s, rng, 6) }
	sweepCrash(t, 150, powers, change, func(s kv.Store) *kvmodel.DB { return openBallots(s).db }, func(sim *kvtest.Sim) {
		b := openBallots(sim.Still())
		if powers.Ordered {
			checkBallots(sim, b, "after a repair")
		}
		must(sim.T(), b.Rebuild(context.Background()))
		checkBallots(sim, b, "after a rebuild")
		must(sim.T(), b.db.Close(context.Background()))
	})
}

// Without an order within a trip, a rebuild does it.
func TestSweep_AfterACrashAnywhereASumIsWhatTheRecordsAddUpTo(t *testing.T) {
	for _, powers := range everyPower {
		sweepBallots(t, powers)
	}
}

// A recount reads the segments of one list, and the number, but no record that a fold has
// confirmed.
func TestSummed_ARecountReadsTheSegmentsOfOneList(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	b := newBallots(open(t, shared{mem}))
	const edges = 20_000
	want := int64(0)
	for from := 0; from < edges; from += 1000 {
		some := make([]*ballot, 1000)
		for i := range some {
			some[i] = &ballot{ID: fmt.Sprint("user", from+i), Story: "x", Value: int64(i%3 - 1)}
			want += some[i].Value
		}
		must(t, b.CreateMulti(ctx, some))
	}
	must(t, b.db.Flush(ctx))
	segments := int(countKeys(t, mem, "l:Ballot:ByStory:x"))
	reads := 0
	counting := answering(mem, func(*kv.Op) bool { reads++; return false })
	n, err := b.db.Sum("Story", "Score").Count(ctx, counting, "x")
	must(t, err)
	t.Logf("a recount at %d edges reads or writes %d keys, of %d of the list", edges, reads, segments)
	if n != want || reads > segments+2 {
		t.Errorf("the sum is %d with %d keys read, want %d with %d at most", n, reads, want, segments+2)
	}
}

func countKeys(t testing.TB, mem *memkv.Store, prefix string) (n int64) {
	t.Helper()
	for _, key := range mem.Keys() {
		if len(key) >= len(prefix) && key[:len(prefix)] == prefix {
			n++
		}
	}
	return n
}
