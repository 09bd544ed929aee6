package journal

import (
	"context"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	shedEvery = 10 * time.Millisecond
	shedTime  = 3 * time.Second
)

// Shed returns when the segments with the lines so far are removed. Lines whose changes
// take longer than a few seconds stay, and those beside them.
func (j *Journal) Shed(ctx context.Context) error {
	last := j.last()
	for begun := j.Now(); last != nil && j.holds(last); {
		j.tickNow()
		if j.Now().Sub(begun) > shedTime {
			return nil
		}
		if !kv.Sleep(ctx, shedEvery) {
			return kv.TooLate(ctx)
		}
	}
	return nil
}

// holds reports whether seg has lines and is there.
func (j *Journal) holds(seg *Segment) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return seg.size > 0 && slices.Contains(j.segments, seg) || len(j.segments) > 1 && j.segments[0].number < seg.number
}
