package whole_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type watching struct {
	kv.Store
	seen *sightings
}

type sightings struct {
	mu     sync.Mutex
	values []sighting
}

type sighting struct {
	key           string
	answered, was []byte
}

func (w watching) Powers() kv.Powers {
	p := kv.PowersOf(w.Store)
	if atomic := p.Atomic; atomic != nil {
		p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
			return atomic(ctx, func(s kv.Store) error { return f(watching{s, w.seen}) })
		}
	}
	return p
}

func (w watching) Do(ctx context.Context, ops []kv.Op) error {
	err := w.Store.Do(ctx, ops)
	w.seen.mu.Lock()
	defer w.seen.mu.Unlock()
	for i := range ops {
		if value := ops[i].Result.Value; value != nil {
			w.seen.values = append(w.seen.values, sighting{ops[i].Key, value, bytes.Clone(value)})
		}
	}
	return err
}

// The texts of a record share memory with the store's answer, which others may read too.
func TestWhole_NobodyChangesWhatTheStoreHasAnswered(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			seen := new(sightings)
			l, err := whole.Open(watching{k.opened(memkv.New(memkv.Options{})), seen}, kvmodel.Clock(time.Now))
			must(t, err)
			d := new(whole.Diary)
			for n := range 3 {
				calls(l, d, n, 60, uint64(n), 1)
			}
			must(t, l.Works.Rebuild(ctx))
			must(t, l.DB.Close(ctx))
			changed := map[string]int{}
			for _, s := range seen.values {
				if !bytes.Equal(s.answered, s.was) {
					changed[s.key]++
				}
			}
			if len(changed) > 0 || len(seen.values) < 500 {
				t.Errorf("of %d answers, these were changed: %s", len(seen.values), fmt.Sprint(changed))
			}
		})
	}
}
