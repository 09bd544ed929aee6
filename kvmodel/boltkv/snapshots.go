package boltkv

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	snapshotEach  = 24 * time.Hour
	snapshotAgain = time.Minute
)

type taken struct {
	snapshot // zero: it failed
	err      error
}

// beginSnapshot begins a snapshot if there is none, the pieces have a gap, or the last is a day old
// and commits were shipped since.
func (sh *shipper) beginSnapshot(ctx context.Context) {
	now := time.Now()
	isOld := now.Sub(sh.newest.begun).Abs() > snapshotEach && sh.newest.from < sh.last
	isDue := sh.newest.begun.IsZero() || isOld || sh.need > sh.newest.from+1
	if !sh.done.Known || !isDue || sh.taking != nil || now.Before(sh.rest) {
		return
	}
	store, to, sn, taking := sh.Store, sh.to, snapshot{sh.lastSeen().seq, now}, make(chan taken, 1)
	sh.taking = taking
	go func() {
		err := store.takeSnapshot(ctx, to, sn.name())
		if err != nil {
			sn = snapshot{}
		} else {
			err = to.thin(ctx, now)
		}
		taking <- taken{sn, err}
	}()
}

func (sh *shipper) took(got taken) {
	sh.taking, sh.done.Spoiled = nil, got.err
	if got.err != nil {
		sh.rest = time.Now().Add(snapshotAgain)
	}
	if !got.begun.IsZero() {
		sh.newest = got.snapshot
	}
	sh.tellDone()
}

// takeSnapshot gives up if it takes too long or retains too many logs. It then releases the logs
// even if the folder does not return.
func (s *Store) takeSnapshot(ctx context.Context, to *history, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limits.snapshot, fmt.Errorf("it takes longer than %v", s.limits.snapshot))
	defer cancel()
	h := s.hold(ctx)
	defer h.release()
	var writing sync.WaitGroup
	defer writing.Wait()
	data, w := io.Pipe()
	defer data.Close() // If the folder has not read everything, it never will.
	writing.Go(func() { _ = w.CloseWithError(h.backup(w)) })
	put := make(chan error, 1)
	go func() { put <- to.PutNew(h.ctx, name, data) }()
	select {
	case err := <-put:
		if err == nil || h.ctx.Err() == nil { // Otherwise the folder reports only that it was stopped.
			return err
		}
	case <-h.ctx.Done():
	}
	return context.Cause(h.ctx)
}
