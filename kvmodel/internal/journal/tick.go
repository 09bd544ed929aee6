package journal

import (
	"context"
	"errors"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	tickEvery = time.Second // also the age from which a segment is followed by a new one
	idleTicks = 5           // after so many with nothing to do, the ticking stops
	tickTime  = 30 * time.Second
)

// tickNow makes the next tick come at once.
func (j *Journal) tickNow() {
	select {
	case j.now <- struct{}{}:
	default:
	}
}

// startTicking starts the loop, unless it runs. The caller holds the lock.
func (j *Journal) startTicking() {
	if j.ticking == nil {
		j.ticking = make(chan struct{})
		go j.loop()
	}
}

// loop ticks while there is something to do.
func (j *Journal) loop() {
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for idle := 0; idle < idleTicks || !j.stopIfIdle(); {
		select {
		case <-j.Closed:
			j.stopTicking()
			return
		case <-j.now:
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), tickTime)
		busy, err := j.doTick(ctx)
		cancel()
		if err != nil {
			j.Log.Warn("ringtree: the journal could not begin its next segment; it will be tried again", "err", err)
		}
		if idle++; busy {
			idle = 0
		}
	}
}

// stopIfIdle ends the ticking, unless something was written since the last tick.
func (j *Journal) stopIfIdle() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := len(j.segments); n > 1 || n == 1 && j.segments[0].size > 0 {
		return false
	}
	close(j.ticking)
	j.ticking = nil
	return true
}

func (j *Journal) stopTicking() {
	j.mu.Lock()
	defer j.mu.Unlock()
	close(j.ticking)
	j.ticking = nil
}

// awaitTicking returns when the ticking has ended, or ctx ends.
func (j *Journal) awaitTicking(ctx context.Context) error {
	j.mu.Lock()
	ticking := j.ticking
	j.mu.Unlock()
	if ticking == nil {
		return nil
	}
	select {
	case <-ticking:
		return nil
	case <-ctx.Done():
		return kv.Unavailable(kv.Ended(ctx))
	}
}

// doTick rolls over to the next segment if the last one has lines, shows that the
// process lives, and removes the segments that are complete. It reports whether
// there was anything to do.
func (j *Journal) doTick(ctx context.Context) (busy bool, err error) {
	last := j.last()
	if last == nil {
		return false, nil
	}
	if err := j.rollOver(ctx, last); err != nil {
		return true, err
	}
	removed, err := j.removeComplete(ctx)
	return removed > 0 || j.OpenLines() > 0, err
}

func (j *Journal) last() *Segment {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.segments) == 0 {
		return nil
	}
	return j.segments[len(j.segments)-1]
}

// rollOver writes the head, which shows that this process lives, and makes the
// segment after last if last has lines. The head names a segment before it
// exists.
func (j *Journal) rollOver(ctx context.Context, last *Segment) error {
	h, next := j.next(last)
	err := h.write(ctx, j.Store, last.process, j.lastTick(last.process))
	if err == nil {
		j.ticked(last.process, h.tick)
	}
	if errors.Is(err, errGoneBack) {
		return j.goneBack(ctx, last.process, err)
	}
	if err == nil && next != last {
		_, err = kv.One(ctx, j.Store, kv.OpAdd(next.key(), nil))
	}
	switch {
	case errors.Is(err, ErrNone):
		j.forget(last.process)
		return nil
	case err != nil && !errors.Is(err, kv.ErrExists):
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if next != last && j.process == last.process {
		last.ended = true
		j.segments = append(j.segments, next)
	}
	return nil
}

// goneBack says that the store shows an old head of process, whose segments may be old,
// too: they are left for repair, and the next line goes to another journal.
func (j *Journal) goneBack(ctx context.Context, process string, err error) error {
	if j.losses != nil {
		if failed := j.losses.GoneBack(ctx, headKey.Key(process)); failed != nil {
			return errors.Join(err, failed)
		}
	}
	j.forget(process)
	return err
}

// lastTick returns the last tick of process that was acknowledged, 0 if there was none.
func (j *Journal) lastTick(process string) uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.headOf != process {
		return 0
	}
	return j.acknowledged
}

func (j *Journal) ticked(process string, tick uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.headOf, j.acknowledged = process, tick
}

// next returns what the head is to say, and the segment to write to after this
// tick, which is last itself if that is empty.
func (j *Journal) next(last *Segment) (head, *Segment) {
	shapes := j.Shapes()
	j.mu.Lock()
	defer j.mu.Unlock()
	next := last
	if last.size > 0 {
		next = newSegment(last.process, last.number+1)
	}
	lowest := next.number
	if len(j.segments) > 0 {
		lowest = j.segments[0].number
	}
	j.tick++
	return head{lowest, next.number, j.tick, shapes}, next
}
