package timeline_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/timeline"
)

type feedItem struct{ Reader, Page string }

var followers = []string{"bob", "cid", "dan"}

// A feed pushes pages to all followers when they are created.
type feed struct {
	*pages
	items *timeline.Events[feedItem, string]
}

func openFeed(s kv.Store, layout timeline.Layout) *feed {
	p := openQuietly(s)
	f := &feed{p, timeline.NewEvents(p.db, timeline.EventsSpec[feedItem, string]{
		Name: "FeedItem", Key: kvmodel.StringKey[string](), By: func(i *feedItem) string { return i.Reader },
		Once: func(i *feedItem) string { return i.Page }, Codec: asJSON[feedItem]{}, Layout: layout,
	})}
	p.OnChange(func(ctx context.Context, c kvmodel.Change[page, string]) error {
		if !c.Created || c.Record == nil {
			return nil
		}
		var items []feedItem
		for _, reader := range followers {
			items = append(items, feedItem{reader, c.ID})
		}
		return f.items.Push(ctx, items...)
	})
	return f
}

func TestSweep_Feed_EveryFollowerGetsEveryPageAfterACrashAnywhere(t *testing.T) {
	for name, layout := range map[string]timeline.Layout{"appended": timeline.Appended, "packed": timeline.Packed, "numbered": timeline.Numbered} {
		t.Run(name, func(t *testing.T) { sweepFeed(t, layout) })
	}
}

func sweepFeed(t *testing.T, layout timeline.Layout) {
	proof.Sweep(t, 60, building(kvtest.NoPowers), func(sim *kvtest.Sim) {
		sim.CrashAt("p", 1+sim.Rand().IntN(120))
		for _, name := range []string{"p", "q"} {
			sim.Go(name, func(s kv.Store) { createSome(openFeed(s, layout), name, 4) })
		}
		sim.Wait()
		repairAll(sim, func(s kv.Store) *pages { return openFeed(s, layout).pages })
		checkFeed(sim, openFeed(sim.Still(), layout))
	})
}

func createSome(f *feed, name string, n int) {
	for i := range n {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_ = f.Create(ctx, &page{ID: fmt.Sprint(name, i), Author: "ann", Body: "text"})
		cancel()
	}
	_ = f.db.Close(context.Background())
}

func checkFeed(sim *kvtest.Sim, f *feed) {
	defer f.close(sim.T())
	there := map[string]bool{}
	for rec, err := range f.All(ctx) {
		must(sim.T(), err)
		there[rec.ID] = true
	}
	for _, reader := range followers {
		items, err := f.items.Latest(ctx, reader, 100)
		must(sim.T(), err)
		shown := map[string]int{}
		for _, item := range items {
			shown[item.Page]++
			if !there[item.Page] {
				sim.T().Errorf("the feed of %s has %s, which was never created", reader, item.Page)
			}
		}
		for id := range there {
			if shown[id] != 1 {
				sim.T().Errorf("%s has %s %d times in the feed", reader, id, shown[id])
			}
		}
	}
}
