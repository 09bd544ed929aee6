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
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var inspectFigures = []func(*bench) error{
	func(b *bench) error {
		return b.eachOf([]opener{onBolt, onPlainMemory}, func(on backend) error { return b.inspect(on, b.size(10_000)) })
	},
}

// inspect checks n records with four indexes, plants faults among them, has these mended, and
// moves everything to another store.
func (b *bench) inspect(on backend, n int) error {
	db, err := open(on.store)
	if err != nil {
		return err
	}
	defer db.Close(b.ctx)
	if err := b.stock(models.New(db), n); err != nil {
		return err
	}
	in := inspect.New(db)
	what := fmt.Sprintf("%s: %d records", on.name, n)
	if err := b.statusOf(in, what); err != nil {
		return err
	}
	if err := b.checkOf(in, what, n); err != nil {
		return err
	}
	if err := b.faultsIn(in, on.store, what, n); err != nil {
		return err
	}
	return b.moves(in, what)
}

// stock makes n goods.
func (b *bench) stock(m *models.Models, n int) error {
	for made := 0; made < n; {
		goods := make([]*models.Good, min(10_000, n-made))
		for i := range goods {
			goods[i] = good(made+i, n)
			goods[i].ID, goods[i].Text = goodID(made+i), "text"
		}
		if err := m.Goods.CreateMulti(b.ctx, goods); err != nil {
			return err
		}
		made += len(goods)
	}
	return m.Goods.DB().Flush(b.ctx)
}

func goodID(i int) string { return fmt.Sprintf("g%07d", i) }

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

// plantedKinds are the faults that are planted, each in the items of a good and of others
// beside it.
var plantedKinds = []func(i int, get func(key string) []byte) kv.Op{
	func(i int, _ func(string) []byte) kv.Op { return kv.OpDelete(fmt.Sprint("u:Good:ByCode:code-", i)) },
	func(i int, get func(string) []byte) kv.Op {
		return kv.OpSet(fmt.Sprint("u:Good:ByCode:other-", i), get(fmt.Sprint("u:Good:ByCode:code-", i)))
	},
	func(i int, get func(string) []byte) kv.Op {
		return kv.OpSet(fmt.Sprint("u:Good:ByCode:code-", i), get(fmt.Sprint("u:Good:ByCode:code-", i+1)))
	},
	func(i int, _ func(string) []byte) kv.Op { return kv.OpDelete("r:Good:" + goodID(i)) },
	func(i int, get func(string) []byte) kv.Op {
		value := bytes.Clone(get("r:Good:" + goodID(i)))
		value[len(value)-1] ^= 1
		return kv.OpSet("r:Good:"+goodID(i), value)
	},
}

// faultsIn plants faults, and reports which of them a check finds, what it finds besides, and
// what a repair leaves.
func (b *bench) faultsIn(in *inspect.Inspector, s kvmodel.Store, what string, n int) error {
	each := n/50 - 1
	planted, beside := make(map[string]bool), make(map[string]bool)
	damaged := 0
	for k, kind := range plantedKinds {
		for j := range each {
			i := 10*(j*len(plantedKinds)+k)%(n-10) + k
			op := kind(i, func(key string) []byte { r, _ := kv.One(b.ctx, s, kv.OpGet(key)); return r.Value })
			if err := s.Do(b.ctx, []kv.Op{op}); err != nil {
				return err
			}
			planted[goodID(i)] = false
			beside[goodID(i+1)] = true // whose claim may stand in the place of another
			if k == len(plantedKinds)-1 {
				damaged++
			}
		}
	}
	r, err := in.Check(b.ctx, inspect.CheckOptions{})
	if err != nil {
		return err
	}
	invented := 0
	for _, f := range r.Faults {
		if _, ours := planted[f.ID]; ours {
			planted[f.ID] = true
		} else if !beside[f.ID] {
			invented++
		}
	}
	missed := 0
	for _, found := range planted {
		if !found {
			missed++
		}
	}
	b.report(fmt.Sprintf("%s: of %d planted faults not found", what, len(planted)), float64(missed), exactly(0))
	b.report(what+": faults that nobody has planted", float64(invented), exactly(0))
	if _, err := in.Repair(b.ctx, r.Faults, inspect.RepairOptions{}); err != nil {
		return err
	}
	left, err := in.Check(b.ctx, inspect.CheckOptions{})
	if err != nil {
		return err
	}
	b.report(what+": left but for the damaged records", float64(len(left.Faults)-damaged), exactly(0))
	again, err := in.Repair(b.ctx, left.Faults, inspect.RepairOptions{})
	b.report(what+": mended by a second repair", float64(again.Mended), exactly(0))
	return b.deleteDamaged(in, left, err)
}

// deleteDamaged removes the records that cannot be read: an export refuses them.
func (b *bench) deleteDamaged(in *inspect.Inspector, r inspect.Report, err error) error {
	for _, f := range r.Faults {
		if err != nil {
			return err
		}
		_, err = in.Forget(b.ctx, f.Model, f.ID, inspect.Pace{})
	}
	return err
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
