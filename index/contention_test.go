package index_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

const writers = 64

// updateAll has 64 writers, spread over the processes, each add n to the record in
// n updates. It returns how many updates ended in ErrConflict; the writers repeat
// those.
func updateAll(t *testing.T, ctx context.Context, processes []*people, n int) (conflicts int64) {
	t.Helper()
	var gaveUp atomic.Int64
	var wait sync.WaitGroup
	for w := range writers {
		p := processes[w%len(processes)]
		wait.Go(func() {
			for range n {
				err := count(ctx, p, "one")
				for errors.Is(err, kv.ErrConflict) {
					gaveUp.Add(1)
					err = count(ctx, p, "one")
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	return gaveUp.Load()
}

func TestUpdate_64WritersInOneProcessLoseNone(t *testing.T) {
	for name, s := range map[string]kv.Store{"atomic": memkv.New(memkv.Options{}), "plain": plain{memkv.New(memkv.Options{})}} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			n := proof.Size(100, 1000)
			db := closing(t, open(t, s))
			p := newPeople(db)
			must(t, p.Create(ctx, &person{ID: "one", Email: "one@x"}))
			gaveUp := updateAll(t, ctx, []*people{p}, n)
			got, err := p.Get(ctx, "one")
			must(t, err)
			t.Logf("%d updates: %d retries, %d conflicts", writers*n, db.Stats().Retries, gaveUp)
			if got.N != writers*n || gaveUp > 0 {
				t.Errorf("counted %d with %d conflicts, want %d and none", got.N, gaveUp, writers*n)
			}
		})
	}
}

func TestUpdate_64WritersIn8ProcessesLoseNone(t *testing.T) {
	ctx := t.Context()
	n := proof.Size(20, 50)
	s := plain{memkv.New(memkv.Options{})}
	var dbs []*kvmodel.DB
	var processes []*people
	for i := range 8 {
		dbs = append(dbs, closing(t, open(t, shared{slow{s}})))
		processes = append(processes, newPeople(dbs[i]))
	}
	must(t, processes[0].Create(ctx, &person{ID: "one", Email: "one@x"}))
	gaveUp := updateAll(t, ctx, processes, n)
	got, err := processes[3].Get(ctx, "one")
	must(t, err)
	retries := 0
	for _, db := range dbs {
		retries += db.Stats().Retries
	}
	t.Logf("%d updates: %d retries, %d ended in ErrConflict", writers*n, retries, gaveUp)
	if got.N != writers*n {
		t.Errorf("counted %d, want %d", got.N, writers*n)
	}
	if most := int64(writers * n / 100); gaveUp > most {
		t.Errorf("%d updates ended in ErrConflict, want at most %d", gaveUp, most)
	}
}

// slow is a store that is a network away.
type slow struct{ kv.Store }

func (s slow) Powers() kv.Powers { return kv.PowersOf(s.Store) }

func (s slow) Do(ctx context.Context, ops []kv.Op) error {
	time.Sleep(100 * time.Microsecond)
	return s.Store.Do(ctx, ops)
}
