package journal

import (
	"context"
	"errors"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	idleTicks = 5 // idle ticks after which the ticking stops
	tickTime  = 30 * time.Second

	// overAfter is the age at which a segment with open lines is expected to stay.
	overAfter = 5 * time.Second

	// A process leaves its journal after keptSegments.
	keptSegments = 4096

	// keptFor is how long a process keeps a journal with lines it has given up, so that an outage
	// leaves only a few journals for repair.
	keptFor = 5 * time.Minute
)

func (j *Journal) tickNow() {
	select {
	case j.now <- struct{}{}:
	default:
	}
}

func (j *Journal) Live() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.process != "" && !j.left {
		j.startTicking()
	}
}

// startTicking starts the loop unless it runs. The caller holds mu.
func (j *Journal) startTicking() {
	if j.ticking == nil {
		j.ticking = make(chan struct{})
		go j.loop()
	}
}

func (j *Journal) loop() {
	ticker := time.NewTicker(times.Tick)
	defer ticker.Stop()
	for idle := 0; idle < idleTicks || !j.stopIfIdle(); {
		select {
		case <-j.Closed:
			j.stopTicking()
			return
		case <-j.now:
		case <-ticker.C:
		}
		ctx, end := j.Begin(context.Background())
		ctx, cancel := context.WithTimeout(ctx, tickTime)
		busy, err := j.doTick(ctx)
		cancel()
		end()
		if err != nil {
			j.Failed(err)
		}
		if idle++; busy {
			idle = 0
		}
	}
}

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

// doTick rolls over to the next segment if there are lines, shows that the process is alive, and
// removes complete segments.
func (j *Journal) doTick(ctx context.Context) (busy bool, err error) {
	if err := j.leavePast(ctx); err != nil {
		return true, err
	}
	last := j.last()
	if last == nil {
		return false, nil
	}
	if j.isForOthers() {
		j.forget(last.process)
		return true, nil
	}
	if err := j.rollOver(ctx, last); err != nil {
		return true, err
	}
	removed, err := j.removeComplete(ctx)
	if err == nil {
		err = j.writeOver(ctx, overAfter)
	}
	return removed > 0 || j.OpenLines() > 0, err
}

// isForOthers reports whether to leave the journal to repair: this process has given up lines, or
// remembers too many segments.
func (j *Journal) isForOthers() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.segments) > keptSegments || j.givenUp && j.Now().Sub(j.opened) >= keptFor
}

func (j *Journal) last() *Segment {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.segments) == 0 {
		return nil
	}
	return j.segments[len(j.segments)-1]
}

// rollOver writes the head, with a new segment if last has lines. A segment is written to only once
// the head names it: otherwise nobody would find it.
func (j *Journal) rollOver(ctx context.Context, last *Segment) error {
	next, err := j.next(ctx, last)
	if err != nil {
		return err
	}
	sent, h := j.Now(), j.headTo(next)
	err = h.write(ctx, j.Store, last.process, j.lastTick(last.process))
	switch {
	case errors.Is(err, errGoneBack):
		return j.goneBack(ctx, last.process, err)
	case errors.Is(err, ErrNone):
		j.forget(last.process)
		if next != last {
			return j.discard(ctx, next)
		}
		return nil
	case err != nil:
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.headOf, j.acknowledged = last.process, h.tick
	if j.process != last.process {
		return nil
	}
	if j.Now().Sub(j.ticked) > times.Gap {
		j.since = sent
	}
	j.ticked = sent
	if next != last {
		last.ended = true
		j.segments = append(j.segments, next)
		j.spare = nil
	}
	return nil
}

func (j *Journal) goneBack(ctx context.Context, process string, err error) error {
	if j.losses != nil {
		if failed := j.losses.GoneBack(ctx, headKey.Key(process)); failed != nil {
			return kv.Join(err, failed)
		}
	}
	j.forget(process)
	return err
}

func (j *Journal) lastTick(process string) uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.headOf != process {
		return 0
	}
	return j.acknowledged
}

func (j *Journal) discard(ctx context.Context, seg *Segment) error {
	_, err := kv.One(ctx, j.Store, kv.OpDelete(seg.key()))
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}

// next returns the segment to write to after this tick: last itself if it is empty.
func (j *Journal) next(ctx context.Context, last *Segment) (*Segment, error) {
	next, exists := j.following(last)
	if exists {
		return next, nil
	}
	if _, err := kv.One(ctx, j.Store, kv.OpAdd(next.key(), nil)); err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.spare = next
	return next, nil
}

func (j *Journal) following(last *Segment) (next *Segment, exists bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.spare != nil && j.spare.process == last.process:
		return j.spare, true
	case last.size == 0:
		return last, true
	}
	j.number++
	return newSegment(last.process, j.number), false
}

func (j *Journal) headTo(next *Segment) head {
	shapes := j.Shapes()
	j.mu.Lock()
	defer j.mu.Unlock()
	lowest := next.number
	if len(j.segments) > 0 {
		lowest = j.segments[0].number
	}
	j.tick++
	return head{lowest, next.number, j.tick, shapes, j.Origin}
}

func (j *Journal) Alive() (ticked, since time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ticked, j.since
}

func HeadKey(process string) string { return headKey.Key(process) }

// Seen handles the answer to a get of the own head: ErrNone if another process has taken this one
// for dead. An old or damaged head is left to the next tick, since this process may have written a
// later one.
func (j *Journal) Seen(process string, got kv.Result) error {
	if got.Err != nil && !errors.Is(got.Err, kv.ErrNotFound) {
		return got.Err
	}
	if got.Err == nil {
		if h, err := decodeHead(got.Value); err != nil || h.tick != closedTick {
			return nil
		}
	}
	j.forget(process)
	return ErrNone
}
