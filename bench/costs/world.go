package costs

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/bench/internal/stores"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// in the order of costs
const (
	OnFile = iota
	OnRedis
	OnMemcached
)

type kind struct {
	name   string
	powers func(kv.Powers) kv.Powers
}

// kinds are stores in memory with the powers of their namesakes.
var kinds = []kind{
	{"file", func(all kv.Powers) kv.Powers { return all }},
	{"Redis", func(all kv.Powers) kv.Powers { return kv.Powers{Unless: true, Ordered: true, Keys: all.Keys} }},
	{"memcached", func(all kv.Powers) kv.Powers { return kv.Powers{Keys: all.Keys} }},
}

func (k kind) of(mem *memkv.Store) kv.Store {
	return stores.With{Outliving: stores.Outliving{Store: mem}, Has: k.powers(mem.Powers())}
}

// clock stands still until time passes.
type clock struct{ ms atomic.Int64 }

func (c *clock) Now() time.Time { return time.UnixMilli(1_800_000_000_000 + c.ms.Load()) }

func (c *clock) pass(d time.Duration) { c.ms.Add(d.Milliseconds()) }

type world struct {
	*Models
	own   context.Context // of calls that are not measured
	ctx   context.Context // of a row's calls
	store kv.Store
	clock *clock
	db    *kvmodel.DB
	n     int

	browser *browser
}

func newWorld(ctx context.Context, on kind) (*world, error) {
	w := &world{own: ctx, ctx: ctx, clock: new(clock)}
	w.store = on.of(memkv.New(memkv.Options{Now: w.clock.Now, Local: true}))
	return w, w.open()
}

// open makes w a process that has not used the store yet.
func (w *world) open() (err error) {
	w.db, err = kvmodel.Open(w.store, kvmodel.Clock(w.clock.Now), kvmodel.Log(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	w.Models = New(w.db)
	return nil
}

func (w *world) restart() error {
	if err := w.db.Close(w.ctx); err != nil {
		return err
	}
	return w.open()
}

// id is as long as generated ids.
func (w *world) id() string {
	w.n++
	return id(w.n)
}

func id(n int) string { return fmt.Sprintf("id%024d", n) }

func ids(n int) []string { return many(n, func(i int) string { return id(i + 1) }) }

func many[T any](n int, f func(i int) T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = f(i)
	}
	return all
}

// text makes a record about a KiB long.
var text = strings.Repeat("All work and no play. ", 40)

func last[T any](_ T, err error) error { return err }
