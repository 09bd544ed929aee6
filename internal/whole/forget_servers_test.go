package whole_test

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

func lister(t *testing.T, k kind) (look, use kv.Store) {
	t.Helper()
	if k.atomic {
		s, err := boltkv.Open(filepath.Join(t.TempDir(), "whole.db"), boltkv.Options{})
		must(t, err)
		t.Cleanup(func() { s.Close() })
		return s, still{s, kv.PowersOf(s)}
	}
	program, parameters := "redis-server", ""
	if k.name == "memcached" {
		program, parameters = "memcached", "?volatile=on"
	}
	url := k.name + "://" + servers.Of(t, program).Addr + parameters
	look, err := kvopen.Store(ctx, url, all.Engines)
	must(t, err)
	t.Cleanup(func() { look.Close() })
	use, err = kvopen.Store(ctx, url, all.Engines)
	must(t, err)
	return look, use
}

func TestForget_RealStoresKeepNoByte(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			look, use := lister(t, k)
			var ahead atomic.Int64
			l, err := whole.Open(use, kvmodel.Clock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }))
			must(t, err)
			defer func() { must(t, l.DB.Close(ctx)) }()

			liveOn(t, l)
			if traces := strings.Join(tracesOf(t, look), "\n"); !strings.Contains(traces, "u:Work:BySlug:"+person) {
				t.Errorf("of someone who is there, this was found:\n%s", traces)
			}
			must(t, l.Likes.Purge(ctx, whole.LikeID{User: "u", Work: person}))
			must(t, l.Works.Purge(ctx, person))
			wantNoTraces(t, look, "what a Purge has left")

			must(t, l.Offers.Create(ctx, &whole.Offer{ID: "7", Code: person, Kind: person, Until: time.Now().Add(48 * time.Hour)}))
			must(t, l.DB.Flush(ctx))
			must(t, l.Offers.Delete(ctx, "7"))
			must(t, l.Tickets.Create(ctx, &whole.Ticket{Text: "next"}))
			must(t, l.DB.Flush(ctx))
			ahead.Store(int64(2 * time.Hour))
			for range 50 {
				must(t, l.DB.Repair(ctx))
				if len(tracesOf(t, look)) == 0 {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
			t.Errorf("after the second cleaning of a Delete there are %q", tracesOf(t, look))
		})
	}
}
