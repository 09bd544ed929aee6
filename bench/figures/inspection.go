package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/bench/figures/models"
	"github.com/ringtree/ringtree/inspect"
)

var inspectFigures = []func(*bench) error{
	func(b *bench) error {
		return b.eachOf([]opener{onQuickFile, onPlainMemory}, func(on backend) error { return b.inspect(on, b.size(10_000)) })
	},
	func(b *bench) error { return b.eachOf([]opener{onQuickFile, onPlainMemory}, b.faults) },
}

// onQuickFile is onUnsyncedBolt, and says so: to fill a file of a million records takes no
// longer than the work on them.
func onQuickFile(b *bench) (backend, error) {
	on, err := onUnsyncedBolt(b)
	on.name += ", not synced"
	return on, err
}

// inspect checks n records with five indexes, and moves them to another store.
func (b *bench) inspect(on backend, n int) error {
	db, err := open(on.store)
	if err != nil {
		return err
	}
	defer db.Close(b.ctx)
	begun := time.Now()
	if err := b.stock(models.New(db), n); err != nil {
		return err
	}
	in := inspect.New(db)
	what := fmt.Sprintf("%s: %d records", on.name, n)
	b.report(what+": made a second", float64(n)/time.Since(begun).Seconds(), target{varies: true})
	if err := b.statusOf(in, what); err != nil {
		return err
	}
	if err := b.checkOf(in, what, n); err != nil {
		return err
	}
	return b.moves(in, what)
}

// stock makes n wares.
func (b *bench) stock(m *models.Models, n int) error {
	for made := 0; made < n; {
		wares := make([]*models.Ware, min(10_000, n-made))
		for i := range wares {
			wares[i] = ware(made+i, n)
		}
		if err := m.Wares.CreateMulti(b.ctx, wares); err != nil {
			return err
		}
		made += len(wares)
	}
	return m.Wares.DB().Flush(b.ctx)
}

// ware returns the ith of n.
func ware(i, n int) *models.Ware {
	return &models.Ware{
		ID: wareID(i), Code: fmt.Sprint("code-", i), Shelf: fmt.Sprint("shelf-", i%997), Maker: fmt.Sprint("maker-", i%50_021),
		ChangedAt: time.Now(), Price: int64(i) * 7919 % int64(n),
	}
}

func wareID(i int) string { return fmt.Sprintf("w%07d", i) }

// statusOf reports how long a status takes.
func (b *bench) statusOf(in *inspect.Inspector, what string) error {
	begun := time.Now()
	if _, err := in.Status(b.ctx); err != nil {
		return err
	}
	b.report(what+": a status", time.Since(begun).Seconds(), atMost(1).in("s"))
	return nil
}

// checkOf reports how fast a check of a sound store is, and how much memory it takes.
func (b *bench) checkOf(in *inspect.Inspector, what string, n int) error {
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	var most atomic.Uint64
	watch := func(inspect.Step) {
		runtime.ReadMemStats(&now)
		most.Store(max(most.Load(), now.HeapAlloc))
	}
	r, err := in.Check(b.ctx, inspect.CheckOptions{Pace: inspect.Pace{Progress: everyHundredth(watch)}})
	if err != nil {
		return err
	}
	b.report(what+": what a check finds in a sound store", float64(len(r.Faults)+len(r.Unasked)), exactly(0))
	b.report(what+": checked a second", float64(n)/r.Took.Seconds(), atLeast(5_000).varying())
	b.report(what+": MB in memory at most, more than before", float64(max(most.Load(), before.HeapAlloc)-before.HeapAlloc)/(1<<20), atMost(256).varying())
	return nil
}

// everyHundredth calls f every hundredth time.
func everyHundredth(f func(inspect.Step)) func(inspect.Step) {
	n := 0
	return func(s inspect.Step) {
		if n++; n%100 == 1 {
			f(s)
		}
	}
}

// moves exports everything, imports it into another store, and compares.
func (b *bench) moves(in *inspect.Inspector, what string) error {
	var file bytes.Buffer
	begun := time.Now()
	out, err := in.Export(b.ctx, &file, inspect.Pace{})
	if err != nil {
		return err
	}
	b.report(what+": an export", time.Since(begun).Seconds(), atMost(20).in("s"))
	to, err := onMemory(b)
	if err != nil {
		return err
	}
	defer to.stop()
	db, err := open(to.store)
	if err != nil {
		return err
	}
	defer db.Close(context.WithoutCancel(b.ctx))
	models.New(db)
	other := inspect.New(db)
	if _, err := other.Import(b.ctx, &file, inspect.ImportOptions{}); err != nil {
		return err
	}
	begun = time.Now()
	d, err := in.Diff(b.ctx, other, inspect.Pace{})
	if err != nil {
		return err
	}
	b.report(what+": a comparison of two equal stores", time.Since(begun).Seconds(), atMost(20).in("s"))
	b.report(what+": differences after a move", float64(d.All), exactly(0))
	var second bytes.Buffer
	again, err := other.Export(b.ctx, &second, inspect.Pace{})
	same := 1.0
	if again.Sum == out.Sum {
		same = 0
	}
	b.report(what+": sums that differ after a move", same, exactly(0))
	return err
}
