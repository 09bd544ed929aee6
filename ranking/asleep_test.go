package ranking_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// sleeper is a store with transactions that several processes use. Its process falls asleep before
// its next transaction, for as long as asleep says.
type sleeper struct {
	*memkv.Store
	asleep atomic.Int64
}

func (s *sleeper) Close() error { return nil }

func (s *sleeper) Powers() kv.Powers {
	p := s.Store.Powers()
	p.Alone = false
	transact := p.Atomic
	p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
		time.Sleep(time.Duration(s.asleep.Swap(0)))
		return transact(ctx, f)
	}
	return p
}

// A process of a release without boards falls asleep before the transaction of a change. A
// release with boards builds them meanwhile.
func TestBoard_BuiltWhileAWriterSleepsBeforeItsTransaction_HasTheRecordOrSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		s := &sleeper{Store: mem}
		old, db := openRecords(s)
		must(t, old.Create(ctx, &article{ID: "a", Stock: 1}))
		s.asleep.Store(int64(3 * time.Minute))
		done := make(chan error, 1)
		go func() { done <- old.Create(context.WithoutCancel(ctx), &article{ID: "b", Stock: 2}) }()
		time.Sleep(time.Second)
		newer := openArticles(&sleeper{Store: mem}, ranking.Windowed)
		for try := 0; newer.Rebuild(ctx) != nil && try < 10; try++ {
			time.Sleep(time.Second)
		}
		must(t, <-done)
		time.Sleep(time.Minute)
		if n, err := newer.TopStock.Len(ctx); n != 2 && !errors.Is(err, kvmodel.ErrNeedsRebuild) {
			t.Errorf("two records were acknowledged, and the board has %d, %v", n, err)
		}
		must(t, newer.db.Close(ctx))
		must(t, db.Close(ctx))
	})
}
