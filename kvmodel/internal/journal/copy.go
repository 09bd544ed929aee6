package journal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Copy is the journal of any process, as read from the store.
type Copy struct {
	Process string
	Tick    uint64 // as in Other
	Lines   []Line // without ended notes
	Bytes   int    // without those that end notes

	// Damaged is an ErrCorrupt with the keys of the unreadable parts; Lines has the readable ones.
	Damaged error

	head     head
	headless bool       // the head is damaged
	version  kv.Version // of the head; 0: none
	segments []kv.Op    // gets with their results
}

const segmentsAtOnce = 100

// Read returns an empty journal without a head. If the head is damaged, the segments it appears to
// name are used.
func Read(ctx context.Context, s kv.Store, process string) (Copy, error) {
	c := Copy{Process: process}
	r, err := kv.One(ctx, s, kv.OpGet(headKey.Key(process)))
	if errors.Is(err, kv.ErrNotFound) {
		c.Damaged = checkName(process)
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.version = r.Version
	if c.head, c.Damaged = readHead(process, r.Value); c.Damaged == nil {
		c.Tick = c.head.sign()
	}
	c.headless = c.Damaged != nil
	return c, c.readSegments(ctx, s)
}

func (c *Copy) readSegments(ctx context.Context, s kv.Store) error {
	// A process that died while it opened a segment may have one that its head does not name yet.
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
		c.Damaged = wire.JoinCorrupt(c.Damaged, wire.Corrupt(seg.Key, err))
		c.Lines = append(c.Lines, lines...)
		c.Bytes += len(seg.Result.Value)
		for _, l := range lines {
			if l.Rev == endedRev {
				c.Bytes -= len(l.encode(nil))
			}
		}
	}
	c.Lines = withoutEnded(c.Lines)
	return nil
}

func (c *Copy) End(ctx context.Context, s kv.Store, notes []Line) error {
	var ops []kv.Op
	var of []*kv.Op // segments
	for i := range c.segments {
		seg := &c.segments[i]
		lines, _ := decodeLines(seg.Result.Value)
		var data []byte
		for _, l := range lines {
			if slices.ContainsFunc(notes, func(n Line) bool { return n.Model == l.Model && n.ID == l.ID }) {
				l.Rev = endedRev
				data = l.encode(data)
			}
		}
		if data != nil {
			ops, of = append(ops, kv.OpAppend(seg.Key, data)), append(of, seg)
		}
	}
	if len(ops) == 0 {
		return nil
	}
	if err := s.Do(ctx, ops); err != nil && !errors.Is(err, kv.ErrNotStored) {
		return err
	}
	now, err := kv.GetAll(ctx, s, kv.Texts(of, func(seg *kv.Op) string { return seg.Key })...)
	for i, r := range now {
		// Otherwise the process has written something else, and is alive.
		if bytes.Equal(r.Value, slices.Concat(of[i].Result.Value, ops[i].Value)) {
			of[i].Result = r
		}
	}
	return err
}

// CreatedIDs returns the ids that journals name as new in model.
func CreatedIDs(ctx context.Context, s kv.Store, model string) (ids []string, err error) {
	var damaged error
	err = eachCopy(ctx, s, func(c Copy) {
		for _, l := range c.Lines {
			if l.Created && l.Model == model {
				ids = append(ids, l.ID)
			}
		}
		damaged = wire.JoinCorrupt(damaged, c.Damaged)
	})
	if err != nil {
		return nil, err
	}
	return ids, damaged
}

func eachCopy(ctx context.Context, s kv.Store, f func(Copy)) error {
	p, err := readProcesses(ctx, s)
	if err != nil {
		return err
	}
	for _, process := range p.all {
		c, err := Read(ctx, s, process)
		if err != nil {
			return err
		}
		f(c)
	}
	return nil
}

func (c *Copy) Models() (models []string) {
	for _, shape := range c.head.shapes {
		if name, _, ok := strings.Cut(shape, "="); ok && !c.headless {
			models = append(models, name)
		}
	}
	return models
}

// Clear removes the damaged parts of a dead process's journal, unless it has changed since it was
// read.
func (c *Copy) Clear(ctx context.Context, s kv.Store) error {
	if c.version == 0 {
		return listProcess(ctx, s, c.Process, false)
	}
	if c.headless {
		if err := c.close(ctx, s); err != nil {
			return unlessChanged(err)
		}
	}
	for _, seg := range c.segments {
		lines, damaged := decodeLines(seg.Result.Value)
		if damaged == nil {
			continue
		}
		var data []byte
		for _, l := range lines {
			data = l.encode(data)
		}
		if _, err := kv.One(ctx, s, kv.OpSwap(seg.Key, seg.Result.Version, data)); err != nil {
			return unlessChanged(err)
		}
	}
	return nil
}

func (c *Copy) close(ctx context.Context, s kv.Store) error {
	h := c.head
	h.tick = closedTick
	_, err := kv.One(ctx, s, kv.OpSwap(headKey.Key(c.Process), c.version, h.encode()))
	return err
}

// Remove removes a dead process's journal, unless it has changed since it was read: then it stays
// until its process has been silent again.
func (c *Copy) Remove(ctx context.Context, s kv.Store) error {
	if c.version != 0 {
		if err := c.close(ctx, s); err != nil {
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

func unlessChanged(err error) error {
	if kv.Raced(err) {
		return nil
	}
	return err
}

func removeNames(ctx context.Context, s kv.Store, process string) error {
	if err := listProcess(ctx, s, process, false); err != nil {
		return err
	}
	return s.Do(ctx, []kv.Op{kv.OpDelete(headKey.Key(process)), kv.OpDelete(repairedKey.Key(process))})
}

// repairedKey is the extent of the first repair of a dead process's journal.
var repairedKey = kv.NewClass("fixed", 1) // process

// Repaired returns when that was, zero if unknown, and the journal's size then.
func Repaired(ctx context.Context, s kv.Store, process string) (when time.Time, covered int, err error) {
	r, err := kv.One(ctx, s, kv.OpGet(repairedKey.Key(process)))
	if errors.Is(err, kv.ErrNotFound) {
		return when, 0, nil
	}
	if err != nil {
		return when, 0, err
	}
	data, damaged := frame.Open(r.Value)
	in := wire.Reader{Rest: data}
	when = time.UnixMilli(int64(in.Number("time", 1<<62)))
	covered = int(in.Number("size", 1<<40))
	if damaged != nil || in.Err != nil || len(in.Rest) > 0 {
		return time.Time{}, 0, nil
	}
	return when, covered, nil
}

func (c *Copy) MarkRepaired(ctx context.Context, s kv.Store, now time.Time) error {
	b := binary.AppendUvarint(nil, uint64(now.UnixMilli()))
	b = binary.AppendUvarint(b, uint64(c.Bytes))
	_, err := kv.One(ctx, s, kv.OpSet(repairedKey.Key(c.Process), frame.Whole(b)))
	return err
}
