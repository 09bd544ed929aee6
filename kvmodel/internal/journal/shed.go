package journal

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Shed checks after shedFirst, then with doubling pauses up to shedLast.
const (
	shedFirst = 10 * time.Millisecond
	shedLast  = time.Second
)

// Shed waits a few seconds until no journal has a line accepted by is, and returns a process with
// one, or "". Lines of a dead process go with its journal.
func (j *Journal) Shed(ctx context.Context, is func(Line) bool) (process string, err error) {
	last := j.last()
	for pause := shedFirst; ; pause *= 2 {
		j.tickNow()
		if over := pause > shedLast; over || !j.holds(last) {
			process, err = holder(ctx, j.Store, is)
			if over || err != nil || process == "" {
				return process, err
			}
		}
		if !kv.Sleep(ctx, pause) {
			return "", kv.TooLate(ctx)
		}
	}
}

func (j *Journal) holds(seg *Segment) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return seg != nil && (seg.size > 0 && slices.Contains(j.segments, seg) || len(j.segments) > 1 && j.segments[0].number < seg.number)
}

func holder(ctx context.Context, s kv.Store, is func(Line) bool) (process string, err error) {
	var damaged error
	err = eachCopy(ctx, s, func(c Copy) {
		if slices.ContainsFunc(c.Lines, is) {
			process = c.Process
		}
		damaged = wire.JoinCorrupt(damaged, c.Damaged)
	})
	if process != "" {
		damaged = nil
	}
	return process, cmp.Or(err, damaged)
}
