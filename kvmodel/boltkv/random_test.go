package boltkv

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// restless has a clock that advances with each trip. It carries out every third trip in a
// transaction, undoes every second one of these, and reopens after every 100 trips.
type restless struct {
	kv.Store
	clock  *proof.Clock
	reopen func(kv.Store) kv.Store
	trips  int
}

var errChangedMind = errors.New("the change is not wanted")

func (r *restless) Do(ctx context.Context, ops []kv.Op) error {
	r.trips++
	r.clock.Advance(time.Duration(r.trips%7) * 10 * time.Minute)
	if r.trips%100 == 0 {
		r.Store = r.reopen(r.Store)
	}
	if r.trips%3 > 0 {
		return r.Store.Do(ctx, ops)
	}
	var unwanted error
	if r.trips%2 == 0 {
		unwanted = errChangedMind
	}
	err := kv.PowersOf(r.Store).Atomic(ctx, func(s kv.Store) error { return errors.Join(s.Do(ctx, ops), unwanted) })
	if errors.Is(err, errChangedMind) {
		return nil
	}
	return err
}

func TestStore_RandomOpsAnswerAsMemkvDoes(t *testing.T) {
	path, clock, other := filepath.Join(t.TempDir(), "store.db"), newClock(), newClock()
	opts := Options{Now: clock.Now, Durability: Unsynced}
	quickly := false
	file := &restless{Store: openAt(t, path, opts), clock: clock, reopen: func(s kv.Store) kv.Store {
		must(s.Close())
		if quickly = !quickly; quickly {
			return need(openQuick(path, opts))
		}
		return openAt(t, path, opts)
	}}
	mem := &restless{Store: memkv.New(memkv.Options{Now: other.Now}), clock: other, reopen: func(s kv.Store) kv.Store { return s }}
	seed := uint64(time.Now().UnixNano())
	for i := range uint64(8) {
		proof.Metamorphic(t, seed+i, 500, proof.Named{Name: "memkv", Store: mem}, proof.Named{Name: "boltkv", Store: file})
	}
	must(file.Close())
}
