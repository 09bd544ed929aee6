package whole_test

import (
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

const loadedWorks, loadedLikes = 40, 130

func recordsOf[T any](n int, v func(i int) *T) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for i := 0; i < n && yield(v(i), nil); i++ {
		}
	}
}

func loadLibrary(l *whole.Library) error {
	_, err := l.Works.Load(ctx, recordsOf(loadedWorks, func(i int) *whole.Work {
		return &whole.Work{
			ID: fmt.Sprint("w", i), Slug: fmt.Sprint("slug", i), Author: fmt.Sprint("author", i%7), Tags: []string{"all", fmt.Sprint("tag", i%5)},
			Room: "hall", Shelf: i % 3, Title: fmt.Sprint("title", i), Note: "note", Price: int64(i % 11), Taken: time.Unix(int64(i), 0),
		}
	}), kvmodel.LoadOptions{})
	if err == nil {
		_, err = l.Likes.Load(ctx, recordsOf(loadedLikes, func(i int) *whole.Like {
			return &whole.Like{User: fmt.Sprint("u", i/loadedWorks), Work: fmt.Sprint("w", i%loadedWorks)}
		}), kvmodel.LoadOptions{})
	}
	return err
}

// One process is killed while it loads, and another loads the same records again.
func TestSweep_ALoadGoesOnAfterAKillAndStoresNothingTwice(t *testing.T) {
	for _, w := range worlds {
		steps := 3600 // of the load
		if w.powers.Atomic {
			steps = 600
		}
		t.Run(w.name, func(t *testing.T) {
			proof.Sweep(t, 50, kvtest.World{Powers: w.powers, MaxSteps: 1_000_000}, func(sim *kvtest.Sim) {
				sim.CrashAt("killed", 1+sim.Rand().IntN(steps))
				sim.Go("killed", func(s kv.Store) {
					l := opened(s)
					_ = loadLibrary(l)
					_ = l.DB.Close(ctx)
				})
				sim.Wait()
				sim.Do("next", func(s kv.Store) {
					l := opened(s)
					err := loadLibrary(l)
					time.Sleep(3 * time.Hour) // until it has repaired
					must(sim.T(), err, l.DB.Flush(ctx), l.DB.Close(ctx))
				})
				l := opened(sim.Still())
				wantLoaded(sim.T(), l)
				must(sim.T(), l.DB.Close(ctx))
			})
		})
	}
}

func wantLoaded(t *testing.T, l *whole.Library) {
	t.Helper()
	likes := 0
	for _, err := range l.Likes.All(ctx) {
		must(t, err)
		likes++
	}
	var works []string
	for v, err := range l.Works.All(ctx) {
		must(t, err)
		works = append(works, v.ID)
		var i int
		_, _ = fmt.Sscanf(v.ID, "w%d", &i)
		if want := int64((loadedLikes - i + loadedWorks - 1) / loadedWorks); v.Likes != want || v.Version != 1 {
			t.Errorf("%s has %d likes and version %d, want %d and 1", v.ID, v.Likes, v.Version, want)
		}
	}
	page, err := l.Works.Newest.Page(ctx, "", 100)
	must(t, err)
	newest := kv.Texts(page.Items, func(v *whole.Work) string { return v.ID })
	for what, ids := range map[string][]string{"the enumeration": works, "the timeline": newest} {
		if slices.Sort(ids); len(ids) != loadedWorks || len(slices.Compact(ids)) != loadedWorks {
			t.Errorf("%s has %q, want %d works", what, ids, loadedWorks)
		}
	}
	if likes != loadedLikes {
		t.Errorf("%d likes, want %d", likes, loadedLikes)
	}
	if r := checked(t, l); len(r.Counts) > 0 {
		t.Error(faultTexts(r.Faults))
	}
}
