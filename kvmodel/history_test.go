package kvmodel_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type article struct {
	ID   string
	Text string
	Done []string
}

type articles struct {
	*kvmodel.Records[article, string]
	db      *kvmodel.DB
	History *kvmodel.History[article, string]
}

func newArticles(db *kvmodel.DB, keep int, forget bool) *articles {
	r := kvmodel.NewRecords(db, kvmodel.Schema[article, string]{
		Name: "Article", Version: 1, History: keep, Forget: forget,
		ID:    func(a *article) string { return a.ID },
		SetID: func(a *article, id string) { a.ID = id },
		Key:   kvmodel.StringKey[string](),
		Codec: asJSON[article]{},
	})
	return &articles{r, db, kvmodel.NewHistory(r)}
}

func (as *articles) write(ctx context.Context, id, text string) error {
	_, err := as.Upsert(ctx, id, func(a *article) error { a.Text = text; return nil })
	return err
}

func textsOf(t testing.TB, ctx context.Context, as *articles, id string, n int) []string {
	t.Helper()
	revisions, err := as.History.Of(ctx, id, n)
	must(t, err)
	var texts []string
	for _, r := range revisions {
		text := "-"
		if r.Item != nil {
			text = r.Item.Text
		}
		texts = append(texts, fmt.Sprint(r.Rev, " ", text))
	}
	return texts
}

func TestHistory_KeepsTheLastBodiesAndDeletions(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		as := newArticles(closing(t, open(t, s)), 50, false)
		if got := textsOf(t, ctx, as, "a", 10); got != nil {
			t.Errorf("of a record that never was: %q", got)
		}
		for _, text := range []string{"one", "two", "three"} {
			must(t, as.write(ctx, "a", text))
		}
		must(t, as.write(ctx, "a", "three")) // changes nothing
		must(t, as.Delete(ctx, "a"))
		must(t, as.write(ctx, "a", "five"))
		want := []string{"5 five", "4 -", "3 three", "2 two", "1 one"}
		wantSame(t, want, textsOf(t, ctx, as, "a", 10), "history")
		wantSame(t, want[:2], textsOf(t, ctx, as, "a", 2), "the last two")
		v, err := as.History.Restore(ctx, "a", 2)
		if err != nil || v.Text != "two" {
			t.Errorf("restored %+v, %v; want two", v, err)
		}
		must(t, as.Delete(ctx, "a"))
		v, err = as.History.Restore(ctx, "a", 3)
		if err != nil || v.Text != "three" {
			t.Errorf("restored %+v, %v; want three", v, err)
		}
		wantSame(t, []string{"8 three", "7 -", "6 two", "5 five"}, textsOf(t, ctx, as, "a", 4), "after restoring")
		for _, rev := range []int64{0, 4, 99} {
			proof.Ends(t, kv.ErrNotFound)(as.History.Restore(ctx, "a", rev))
		}
	})
}

func TestHistory_IsTrimmedByNumberAndBySize(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		mem := storeOf(s)
		db := closing(t, open(t, s))
		as := newArticles(db, 5, false)
		size := func(id string) int {
			r, err := kv.One(ctx, mem, kv.OpGet("h:Article:"+id))
			must(t, err)
			return len(r.Value)
		}
		for i := range 100 {
			must(t, as.write(ctx, "a", fmt.Sprint(i)))
		}
		must(t, db.Flush(ctx))
		if got := textsOf(t, ctx, as, "a", 5); got[0] != "100 99" || len(got) != 5 {
			t.Errorf("the last five are %q", got)
		}
		if n := size("a"); n > 5*10*100 {
			t.Errorf("the history of 100 small bodies has %d bytes", n)
		}
		for i := range 40 {
			must(t, as.write(ctx, "b", strings.Repeat(fmt.Sprint(i), 50<<10)))
		}
		must(t, db.Flush(ctx))
		if n := size("b"); n > 512<<10 {
			t.Errorf("the history of 40 large bodies has %d bytes", n)
		}
		must(t, as.write(ctx, "c", strings.Repeat("x", 300<<10)))
		must(t, as.write(ctx, "c", "small"))
		wantSame(t, []string{"2 small", "1 -"}, textsOf(t, ctx, as, "c", 9), "a body that is too large")
	})
}

func storeOf(s kv.Store) kv.Store {
	if p, ok := s.(powers); ok {
		return p.Store
	}
	return s
}

func TestHistory_CutBytesAreCorrupt(t *testing.T) {
	ctx := t.Context()
	mem := memkv.New(memkv.Options{})
	as := newArticles(closing(t, open(t, mem)), 5, false)
	must(t, as.write(ctx, "a", "one"))
	r, err := kv.One(ctx, mem, kv.OpGet("h:Article:a"))
	must(t, err)
	for n := 1; n < 20; n++ {
		proof.Done(t)(kv.One(ctx, mem, kv.OpSet("h:Article:a", r.Value[:n])))
		_, err = as.History.Of(ctx, "a", 5)
		if !errors.Is(err, kvmodel.ErrCorrupt) || !strings.Contains(err.Error(), "h:Article:a") {
			t.Errorf("cut to %s: got %v, want ErrCorrupt with the key", hex.EncodeToString(r.Value[:n]), err)
		}
	}
}

// Each revision adds one token to those of the revision before, so the test sees a missing revision
// and one that never committed.
func TestSweep_AHistoryHasJustWhatCommitted(t *testing.T) {
	for _, p := range []kvtest.Powers{kvtest.NoPowers, kvtest.ServerPowers, kvtest.AllPowers, kvtest.OptimisticPowers} {
		world := kvtest.Hostile(p)
		world.MaxCrashes = 2
		proof.Sweep(t, 100, world, func(sim *kvtest.Sim) {
			for i, name := range []string{"p", "q", "r"} {
				rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
				sim.Go(name, func(s kv.Store) { writeArticles(s, name, rng) })
			}
			sim.Wait()
			time.Sleep(2 * time.Minute) // for work that Close left
			ctx := context.Background()
			as := newArticles(open(sim.T(), sim.Still()), 4, false)
			checkHistory(sim.T(), ctx, as)
			must(sim.T(), as.db.Close(ctx))
		})
	}
}

func writeArticles(s kv.Store, name string, rng *rand.Rand) {
	as := newArticles(openSwept(s), 4, false)
	for i := range 6 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		if rng.IntN(6) == 0 {
			_ = as.Delete(ctx, "a")
		} else {
			_, _ = as.Upsert(ctx, "a", func(a *article) error {
				a.Done = append(a.Done, fmt.Sprint(name, i))
				return nil
			})
		}
		cancel()
	}
	closeSwept(as.db)
}

func checkHistory(t *testing.T, ctx context.Context, as *articles) {
	now, err := as.Get(ctx, "a")
	if errors.Is(err, kv.ErrNotFound) {
		now = nil
	} else {
		must(t, err)
	}
	revisions, err := as.History.Of(ctx, "a", 100)
	must(t, err)
	if now != nil && (len(revisions) == 0 || revisions[0].Item == nil || !slices.Equal(revisions[0].Item.Done, now.Done)) {
		t.Errorf("the record is %+v, and its history begins with %+v", now, revisions)
	}
	for i := range len(revisions) - 1 {
		newer, older := revisions[i], revisions[i+1]
		if newer.Rev != older.Rev+1 && newer.Rev != older.Rev+2 {
			t.Errorf("revision %d follows %d", newer.Rev, older.Rev)
		}
		if newer.Item == nil || newer.Rev != older.Rev+1 {
			continue // a deletion, or one whose entry is missing
		}
		var before []string
		if older.Item != nil {
			before = older.Item.Done
		}
		if n := len(newer.Item.Done); n != len(before)+1 || !slices.Equal(newer.Item.Done[:n-1], before) {
			t.Errorf("revision %d is %v, and %d was %v", newer.Rev, newer.Item.Done, older.Rev, before)
		}
	}
}
