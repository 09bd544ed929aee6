package boltkv

import (
	"context"
	"io"
	"time"
)

const (
	snapshotEach = 24 * time.Hour
	snapshotLook = 10 * time.Minute // how often Follow looks whether one is due

	snapshotAgain = time.Minute // until one that has failed is tried again
)

// takeSnapshots takes a snapshot whenever one is due, as soon as the term is known.
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

// takeDue takes a snapshot if one is due: the last is a day old, or there was a gap since,
// and there were commits. Then it deletes what is too old.
func (sh *shipper) takeDue(ctx context.Context) error {
	terms, err := sh.to.Terms(ctx)
	if err != nil {
		return err
	}
	all, err := sh.to.Snapshots(ctx, terms)
	if err != nil {
		return err
	}
	gap, err := sh.to.LastGap(ctx)
	if err != nil {
		return err
	}
	due := sh.want.Swap(false) || len(all) == 0
	if !due {
		newest := all[len(all)-1]
		due = newest.Last+1 < gap || newest.Last < sh.seenLast() && time.Since(newest.Taken).Abs() > snapshotEach
		sh.note(func(done *Shipping) { done.Snapshot = newest.Taken })
	}
	if !due {
		return nil
	}
	if err := sh.takeSnapshot(ctx); err != nil {
		sh.want.Store(true)
		return err
	}
	return sh.to.Thin(ctx, terms, time.Now())
}

// takeSnapshot takes a snapshot. It gives up when too many logs are kept for it.
func (sh *shipper) takeSnapshot(ctx context.Context) error {
	h, ctx := sh.Store.hold(ctx)
	defer h.release()
	var made point
	err := sh.to.PutSnapshot(ctx, sh.term.Number, func(ctx context.Context, w io.Writer) (last uint64, taken time.Time, err error) {
		made, err = h.backup(ctx, w)
		return made.seq, time.Unix(0, made.time), err
	})
	switch {
	case err == nil:
		sh.note(func(done *Shipping) { done.Snapshot = time.Unix(0, made.time) })
	case ctx.Err() != nil: // The folder says only that it was to stop.
		err = context.Cause(ctx)
	}
	return err
}
