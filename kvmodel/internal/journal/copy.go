package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Copy is the journal of any process, as it was read.
type Copy struct {
	Process string
	Tick    uint64 // as Other.Head has it
	Lines   []Line
	Bytes   int // of the lines

	head     head
	version  kv.Version // of the head; 0 if there is none
	segments []kv.Op    // gets, with their results; a segment that is gone has none
}

// segmentsAtOnce is how many segments are read in one trip.
const segmentsAtOnce = 100

// Read returns the journal of process. One without a head is empty.
func Read(ctx context.Context, s kv.Store, process string) (Copy, error) {
	c := Copy{Process: process}
	r, err := kv.One(ctx, s, kv.OpGet(headKey.Key(process)))
	if errors.Is(err, kv.ErrNotFound) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.version = r.Version
	if c.head, err = decodeHead(r.Value); err != nil {
		return c, err
	}
	c.Tick = c.head.sign()
	return c, c.readSegments(ctx, s)
}

func (c *Copy) readSegments(ctx context.Context, s kv.Store) error {
	// A process that died while it opened a segment may have one that its head
	// does not name yet.
	for n := c.head.lowest; n <= c.head.highest+2; n++ {
		c.segments = append(c.segments, kv.OpGet(segmentKey.Key(c.Process, strconv.FormatInt(n, 10))))
	}
	for batch := range slices.Chunk(c.segments, segmentsAtOnce) {
		if err := s.Do(ctx, batch); err != nil {
			return err
		}
	}
	for _, seg := range c.segments {
		lines, err := decodeLines(seg.Result.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", seg.Key, err)
		}
		c.Lines = append(c.Lines, lines...)
		c.Bytes += len(seg.Result.Value)
	}
	return nil
}

// CreatedIDs returns the ids of model that some journal names as new.
func CreatedIDs(ctx context.Context, s kv.Store, model string) ([]string, error) {
	all, _, err := processes(ctx, s)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, process := range all {
		c, err := Read(ctx, s, process)
		if err != nil {
			return nil, err
		}
		for _, l := range c.Lines {
			if l.Created && l.Model == model {
				ids = append(ids, l.ID)
			}
		}
	}
	return ids, nil
}

// Remove removes the journal of a dead process, unless it has changed since it
// was read: then it stays until its process has been still again. The head is
// marked as closed first, so that the process makes no segment that no one would
// find.
func (c *Copy) Remove(ctx context.Context, s kv.Store) error {
	if c.version != 0 {
		h := c.head
		h.tick = closedTick
		_, err := kv.One(ctx, s, kv.OpSwap(headKey.Key(c.Process), c.version, h.encode()))
		if err != nil {
			return unlessChanged(err)
		}
	}
	for _, seg := range c.segments {
		if seg.Result.Err != nil {
			continue
		}
		_, err := kv.One(ctx, s, kv.OpDrop(seg.Key, seg.Result.Version))
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return unlessChanged(err)
		}
	}
	return removeNames(ctx, s, c.Process)
}

// unlessChanged returns nil for an err that says that a journal has changed.
func unlessChanged(err error) error {
	if kv.Raced(err) {
		return nil
	}
	return err
}

// removeNames removes what names the journal of process, whose segments are
// gone.
func removeNames(ctx context.Context, s kv.Store, process string) error {
	if err := listProcess(ctx, s, process, false); err != nil {
		return err
	}
	return s.Do(ctx, []kv.Op{kv.OpDelete(headKey.Key(process)), kv.OpDelete(repairedKey.Key(process))})
}

// repairedKey says what the first repair of a dead process's journal covered.
var repairedKey = kv.NewClass("fixed", 1) // process

// Repaired returns when the journal of process was first repaired, and how many
// bytes it had; the zero time if it was not.
func Repaired(ctx context.Context, s kv.Store, process string) (when time.Time, covered int, err error) {
	r, err := kv.One(ctx, s, kv.OpGet(repairedKey.Key(process)))
	if errors.Is(err, kv.ErrNotFound) {
		return when, 0, nil
	}
	if err != nil {
		return when, 0, err
	}
	in := wire.Reader{Rest: r.Value}
	when = time.UnixMilli(int64(in.Number("time", 1<<62)))
	covered = int(in.Number("size", 1<<40))
	return when, covered, in.Err
}

// MarkRepaired notes that the journal c was repaired now.
func (c *Copy) MarkRepaired(ctx context.Context, s kv.Store, now time.Time) error {
	b := binary.AppendUvarint(nil, uint64(now.UnixMilli()))
	b = binary.AppendUvarint(b, uint64(c.Bytes))
	_, err := kv.One(ctx, s, kv.OpSet(repairedKey.Key(c.Process), b))
	return err
}
