package recovery

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// leaseKey is the key of the item that a process holds while it rescues. Two processes that
// do so at once read everything twice, and do no harm.
var leaseKey = kv.NewClass("recovery", 1).Key("lease")

// leaseTime is how long after the death of its process a lease ends.
const leaseTime = 2 * time.Minute

// alone does work with the lease, and nothing if another process has it.
func (r *Recovery) alone(ctx context.Context, work func() error) error {
	_, err := kv.One(ctx, r.db.Store(), kv.OpAdd(leaseKey, nil).For(leaseTime))
	if errors.Is(err, kvmodel.ErrExists) {
		return nil
	}
	if err != nil {
		return err
	}
	release := r.renew(context.WithoutCancel(ctx))
	defer release()
	return work()
}

// renew keeps the lease until release is called.
func (r *Recovery) renew(ctx context.Context) (release func()) {
	ended := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(leaseTime / 4)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				r.send(ctx, kv.OpSet(leaseKey, nil).For(leaseTime))
			}
		}
	})
	return func() {
		close(ended)
		renewing.Wait()
		r.send(ctx, kv.OpDelete(leaseKey))
	}
}

// send sends op. If it fails, the lease ends earlier or later than it should.
func (r *Recovery) send(ctx context.Context, op kv.Op) {
	if _, err := kv.One(ctx, r.db.Store(), op); err != nil && !errors.Is(err, kvmodel.ErrNotFound) {
		slog.Warn("the lease of a rescue could not be changed", "err", err)
	}
}
