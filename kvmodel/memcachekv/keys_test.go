package memcachekv_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
)

func TestStore_Keys_MissesNoneThatIsReadMeanwhile(t *testing.T) {
	servers.Need(t, "memcached")
	p, err := servers.Memcached()
	must(t, err)
	t.Cleanup(p.Stop)
	// On a busy machine a server, its crawler and its readers may all wait for longer than a
	// second.
	s, err := memcachekv.OpenVolatile([]string{p.Addr}, patient)
	must(t, err)
	const n = 2000
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprint("key-", i))
		if _, err := kv.One(t.Context(), s, kv.OpSet(keys[i], make([]byte, 10*(i%100)))); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var ends sync.WaitGroup
	for range 2 {
		ends.Go(func() {
			for ctx.Err() == nil {
				_, _ = kv.GetAll(ctx, s, keys...)
			}
		})
	}
	for range 20 {
		missing := make(map[string]bool)
		for _, key := range keys {
			missing[key] = true
		}
		err := kv.PowersOf(s).Keys(t.Context(), "key-", func(some []string) error {
			for _, key := range some {
				delete(missing, key)
			}
			return nil
		})
		if err != nil || len(missing) > 0 {
			t.Errorf("%d of %d keys were not listed, %v", len(missing), n, err)
		}
	}
	stop()
	ends.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
