package boltkv

import (
	"context"
	"fmt"
	"io"
	"time"
)

const (
	snapshotEach  = 24 * time.Hour
	snapshotAgain = time.Minute // until one that has failed is tried again
)

// taken says what became of a snapshot.
type taken struct {
	snapshot       // the zero one: it is not in the folder
	err      error // why it is not, or why old ones could not be deleted
}

// beginSnapshot has a snapshot taken if one is due: there is none, or the pieces do not go on
// where the last one ends, or the last is a day old, and commits were shipped since.
func (sh *shipper) beginSnapshot(ctx context.Context) {
	now := time.Now()
	isOld := now.Sub(sh.newest.begun).Abs() > snapshotEach && sh.newest.from < sh.last
	isDue := sh.newest.begun.IsZero() || isOld || sh.need > sh.newest.from+1
	if !sh.joined || !isDue || sh.taking != nil || now.Before(sh.rest) {
		return
	}
	sn, h, taking := snapshot{sh.seenLast(), now}, sh.Store.hold(), make(chan taken, 1)
	sh.taking = taking
	go func() {
		err := sh.takeSnapshot(ctx, sn, h)
		if err != nil {
			sn = snapshot{}
		} else {
			err = sh.to.thin(ctx, now)
		}
		taking <- taken{sn, err}
	}()
}

// took notes what became of the snapshot.
func (sh *shipper) took(got taken) {
	sh.taking, sh.done.Spoiled = nil, got.err
	if got.err != nil {
		sh.rest = time.Now().Add(snapshotAgain)
	}
	if !got.begun.IsZero() {
		sh.newest = got.snapshot
	}
	sh.tell()
}

// takeSnapshot takes a snapshot. It gives up when that takes too long, or too many logs are
// kept for it; then they are kept no longer, even if the folder does not return.
func (sh *shipper) takeSnapshot(ctx context.Context, sn snapshot, h *hold) error {
	defer h.release()
	ctx, stop := h.during(ctx)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, h.limits.snapshot, fmt.Errorf("it takes longer than %v", h.limits.snapshot))
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- sh.to.putSnapshot(ctx, sn.name(), func(w io.Writer) error { return h.backup(ctx, w) })
	}()
	select {
	case err := <-ended:
		if err != nil && ctx.Err() != nil { // The folder says only that it was to stop.
			return context.Cause(ctx)
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
