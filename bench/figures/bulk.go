package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/ringtree/ringtree/bench/figures/models"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// onPlainMemory is memory as a store without transactions.
func onPlainMemory(*bench) (backend, error) {
	return backend{name: "memkv without transactions", store: shared{memkv.New(memkv.Options{})}, stop: func() {}}, nil
}

// shared is a store that others may use at the same time.
type shared struct{ kvmodel.Store }

func (s shared) Powers() kv.Powers {
	p := kv.PowersOf(s.Store)
	p.Atomic = nil
	return p
}

// bulk reports how fast records with an index of each kind are made by CreateMulti, and
// how much memory that takes.
func bulk(b *bench) error {
	return b.eachOf([]opener{onMemory, onPlainMemory, onRedis}, func(on backend) error { return b.load(on, b.size(1_000_000)) })
}

// load makes n goods, ten thousand by each call.
func (b *bench) load(on backend, n int) error {
	store, asked := counting(on.store, func(op kv.Op) bool { return true })
	db, err := open(store)
	if err != nil {
		return err
	}
	defer db.Close(b.ctx)
	m := models.New(db)
	var memory runtime.MemStats
	runtime.GC() // What the last backend held is not this one's.
	begun, most := time.Now(), uint64(0)
	for made := 0; made < n; {
		goods := make([]*models.Good, min(10_000, n-made))
		for i := range goods {
			goods[i] = good(made+i, n)
		}
		if err := m.Goods.CreateMulti(b.ctx, goods); err != nil {
			return err
		}
		made += len(goods)
		runtime.ReadMemStats(&memory)
		most = max(most, memory.HeapAlloc)
	}
	if err := db.Flush(b.ctx); err != nil {
		return err
	}
	took := time.Since(begun)
	what := fmt.Sprintf("%s: %d records", on.name, n)
	b.report(what+": a second", float64(n)/took.Seconds(), atLeast(15_000).varying())
	b.report(what+": requests each", float64(asked.Load())/float64(n), atMost(7).varying())
	if strings.HasPrefix(on.name, "memkv") {
		runtime.GC()
		runtime.ReadMemStats(&memory)
		b.report(what+": bytes each in memory", float64(memory.HeapAlloc)/float64(n), atMost(2200).varying())
		return nil
	}
	b.report(what+": MB in memory at most", float64(most>>20), atMost(200).varying())
	return nil
}

// good returns the ith of n.
func good(i, n int) *models.Good {
	return &models.Good{
		Code: fmt.Sprint("code-", i), Shelf: fmt.Sprint("shelf-", i%997), Text: fmt.Sprintf("%01000d", i),
		ChangedAt: time.Now(), Price: int64(i) * 7919 % int64(n),
	}
}
