package kvmodel

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// outages are the servers of the store that do not answer.
type outages struct {
	log *slog.Logger

	mu   sync.Mutex // never held during a trip
	away map[string]bool
}

// hear logs the start and the end of an outage.
func (o *outages) hear(out kv.Outage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if out.Over {
		delete(o.away, out.Server)
		o.log.Info("ringtree: a server of the store answers again",
			"server", out.Server, "after", time.Since(out.Since).Round(time.Millisecond))
		return
	}
	o.away[out.Server] = true
	o.log.Warn("ringtree: waiting for a server of the store", "server", out.Server, "what", work.Clip(out.Why))
}

// servers returns the addresses of the silent servers, sorted.
func (o *outages) servers() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.away))
}

// Patient returns a ctx for one call of several trips. Without a deadline of its own it ends after
// the store's patience, which the trips share. The caller must call the func when the call ends.
func (db *DB) Patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return db.core.Patient(ctx)
}
