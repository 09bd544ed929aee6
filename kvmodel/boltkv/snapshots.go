package boltkv

import (
	"context"
	"fmt"
	"io"
	"time"
)

const (
	snapshotEach  = 24 * time.Hour
	snapshotLook  = 10 * time.Minute // how often Ship looks whether one is due
	snapshotAgain = time.Minute      // until one that has failed is tried again
)

// takeSnapshots takes a snapshot whenever one is due, as soon as the folder is known.
func (sh *shipper) takeSnapshots(ctx context.Context) {
	select {
	case <-sh.due:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		err, pause := sh.takeDue(ctx), snapshotLook
		if err != nil {
			pause = snapshotAgain
		}
		if ctx.Err() == nil {
			sh.note(func(done *Shipping) { done.Spoiled = err })
		}
		select {
		case <-sh.due:
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// wakeSnapshots has takeSnapshots look whether one is due.
func (sh *shipper) wakeSnapshots() {
	select {
	case sh.due <- struct{}{}:
	default:
	}
}

// takeDue takes a snapshot if one is due: there is none, or the pieces do not go on where the
// last one ends, or the last is a day old, and commits were shipped since. Then it deletes
// what is too old.
func (sh *shipper) takeDue(ctx context.Context) error {
	all, err := sh.to.snapshots(ctx)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		newest := all[len(all)-1]
		sh.base.Store(newest.last)
		sh.note(func(done *Shipping) { done.Snapshot = newest.taken })
		isOld := time.Since(newest.taken).Abs() > snapshotEach && newest.last < sh.last.Load()
		if !isOld && sh.need.Load() <= newest.last+1 {
			return nil
		}
	}
	if err := sh.takeSnapshot(ctx); err != nil {
		return err
	}
	return sh.to.thin(ctx, time.Now())
}

// takeSnapshot takes a snapshot. It gives up when that takes too long, or too many logs are
// kept for it; then they are kept no longer, even if the folder does not return.
func (sh *shipper) takeSnapshot(ctx context.Context) error {
	all := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, sh.limits.snapshot, fmt.Errorf("it takes longer than %v", sh.limits.snapshot))
	defer cancel()
	h, ctx := sh.Store.hold(ctx)
	defer h.release()
	defer context.AfterFunc(ctx, func() {
		if all.Err() == nil {
			sh.note(func(done *Shipping) { done.Spoiled = context.Cause(ctx) })
		}
		h.release()
	})()
	made, err := sh.to.putSnapshot(ctx, func(w io.Writer) (point, error) { return h.backup(ctx, w) })
	if err != nil && ctx.Err() != nil { // The folder says only that it was to stop.
		return context.Cause(ctx)
	}
	if err == nil {
		sh.base.Store(made.seq)
		sh.note(func(done *Shipping) { done.Snapshot = time.Unix(0, made.time) })
	}
	return err
}
