package journal

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Shed looks after shedFirst, and then each time after twice as long, until that is over
// shedLast.
const (
	shedFirst = 10 * time.Millisecond
	shedLast  = time.Second
)

// Shed waits a few seconds until no journal has a line that is accepts. It returns a process
// whose journal still has one, "" if there is none. A line of this process goes when its
// change, and those beside it in its segment, are complete; one of a process that has died
// when its journal is removed.
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

// holds reports whether seg, which may be nil, has lines and is there.
func (j *Journal) holds(seg *Segment) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return seg != nil && (seg.size > 0 && slices.Contains(j.segments, seg) || len(j.segments) > 1 && j.segments[0].number < seg.number)
}

// holder returns a process whose journal has a line that is accepts, "" if there is none. It
// is an ErrCorrupt if that cannot be told, since a line is damaged.
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
