package kvmodel

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/write"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The ids of some models are consecutive numbers. The next number belongs to the first change that
// adds the record's own key, so there is no counter and no enumeration. Tombstones never expire.

// Last returns the last number given to a record, even if it was deleted, or 0. One trip, none if
// this process created the last. ErrBadOp if ids are not assigned in order.
func (r *Records[T, K]) Last(ctx context.Context) (int64, error) { return r.m.last(ctx) }

func (m *class) last(ctx context.Context) (int64, error) {
	ctx, end := m.Db.Begin(ctx, "Last")
	defer end()
	if m.Numbers == nil {
		return 0, fmt.Errorf("%s: %w: its ids are not id,seq", m.Name, kv.ErrBadOp)
	}
	ctx, cancel := m.Db.Patient(ctx)
	defer cancel()
	n, err := m.Numbers.Last(ctx, m.Db.Store)
	return n, m.Failure("the last number", err)
}

// AcceptLoss continues the numbers after the highest still stored, on a store that has lost some.
// DB.Accept does so for all models. ErrBadOp if ids are not assigned in order.
func (r *Records[T, K]) AcceptLoss(ctx context.Context) error { return r.m.acceptLoss(ctx) }

func (m *class) acceptLoss(ctx context.Context) error {
	ctx, end := m.Db.Begin(ctx, "AcceptLoss")
	defer end()
	if err := m.Db.Writable(); err != nil {
		return m.Failure("the last number", err)
	}
	if m.Numbers == nil {
		return fmt.Errorf("%s: %w: its ids are not id,seq", m.Name, kv.ErrBadOp)
	}
	return m.AcceptNumbers(ctx)
}

func (r *Records[T, K]) numbered(v *T) write.Numbered {
	return write.Numbered{Value: v, Set: func(n int64) { r.schema.SetID(v, r.schema.Key.Number(n)) }}
}

// Before returns the records with ids below id, highest first, or all if id is 0. It needs no
// index. Its pages return ErrBadOp if ids are not assigned in order.
func (r *Records[T, K]) Before(id K) Lister[T] {
	n, err := strconv.ParseInt(r.schema.Key.Text(id), 10, 64)
	if r.m.Numbers == nil || err != nil || n < 0 {
		err = fmt.Errorf("%s: %w: its ids are not id,seq", r.m.Name, kv.ErrBadOp)
	}
	return downwardOf[T]{&downward{m: r.m.Model, name: fmt.Sprintf("%s.Before %d", r.m.Name, n), top: n - 1, wrong: err}}
}

type downward struct {
	m     *core.Model
	name  string // for its cursors
	top   int64  // the highest number; -1: the last record
	wrong error  // the error of its pages
}

type downwardOf[T any] struct{ d *downward }

// Page returns n records from the position of cursor. It skips records that are deleted or that
// keep rejects, and reads up to ten times n numbers. One trip, and one more if this process does
// not know the last number. With an ErrCorrupt it returns the undamaged records.
func (d downwardOf[T]) Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (Listing[T], error) {
	found, next, prev, err := d.d.page(ctx, cursor, n, plug.Keeps(keep))
	return Listing[T]{Items: plug.AllAs[T](found), Next: next, Prev: prev}, err
}

func (d *downward) page(ctx context.Context, cursor string, n int, keep func(plug.Record) bool) (found []plug.Record, next, prev string, err error) {
	ctx, end := d.m.Db.Begin(ctx, "Before")
	defer end()
	if err := plug.CheckPage(d.m.Name, n); err != nil {
		return nil, "", "", err
	}
	if d.wrong != nil {
		return nil, "", "", d.wrong
	}
	ctx, cancel := d.m.Db.Patient(ctx)
	defer cancel()
	top, err := d.last(ctx)
	if err != nil {
		return nil, "", "", err
	}
	w := numberWalk{at: top, step: -1, top: top}
	if cursor != "" {
		if w, err = d.resume(cursor, top); err != nil {
			return nil, "", "", err
		}
	}
	return d.from(ctx, w, n, keep)
}

func (d *downward) from(ctx context.Context, w numberWalk, n int, keep func(plug.Record) bool) (found []plug.Record, next, prev string, err error) {
	start := w.at
	found, err = d.walk(ctx, &w, n, keep)
	if err != nil && !wire.IsCorrupt(err) {
		return nil, "", "", err
	}
	if w.step > 0 && w.ended() && len(found) < n {
		// Less than a page is above: return the first page.
		return d.from(ctx, numberWalk{at: w.top, step: -1, top: w.top}, n, keep)
	}
	next, prev = d.cursor(w), d.cursor(numberWalk{at: start - w.step, step: -w.step, top: w.top})
	if w.step > 0 {
		slices.Reverse(found)
		next, prev = prev, next
	}
	return found, next, prev, err
}

func (d *downward) last(ctx context.Context) (int64, error) {
	if d.top >= 0 {
		return d.top, nil
	}
	n, err := d.m.Numbers.Last(ctx, d.m.Db.Store)
	return n, d.m.Failure("the last number", err)
}

// walk returns the next n records and moves w past all it has read. The ErrCorrupt covers the
// damaged ones among these.
func (d *downward) walk(ctx context.Context, w *numberWalk, n int, keep func(plug.Record) bool) (found []plug.Record, err error) {
	var damaged []error
	for looked, ask := 0, n; ask > 0 && !w.ended(); ask = plug.Ask(n, len(found), looked) {
		ids := w.ahead(ask)
		recs, err := d.m.See(ctx, d.m.Db.Store, ids)
		if recs == nil {
			return nil, err
		}
		for _, rec := range recs {
			if len(found) == n {
				break
			}
			w.at += w.step
			looked++
			if rec.Err != nil {
				damaged = append(damaged, rec.Err)
			}
			if v := rec.Value; v != nil && (keep == nil || keep(v)) {
				found = append(found, v)
			}
		}
	}
	return found, core.Joined(damaged)
}

type numberWalk struct{ at, step, top int64 }

func (w numberWalk) ended() bool { return w.at < 1 || w.at > w.top }

func (w numberWalk) ahead(n int) []string {
	var ids []string
	for at := w.at; len(ids) < n && at >= 1 && at <= w.top; at += w.step {
		ids = append(ids, strconv.FormatInt(at, 10))
	}
	return ids
}

func (d *downward) cursor(w numberWalk) string {
	if w.ended() {
		return ""
	}
	return plug.Cursor(d.name, binary.AppendUvarint([]byte{byte('=' + w.step)}, uint64(w.at)))
}

// resume returns the walk of cursor: '<' leads down and '>' up.
func (d *downward) resume(cursor string, top int64) (numberWalk, error) {
	b, err := plug.ParseCursor(d.name, cursor)
	if err != nil {
		return numberWalk{}, err
	}
	if len(b) > 1 && (b[0] == '<' || b[0] == '>') {
		if at, size := binary.Uvarint(b[1:]); size == len(b)-1 && at <= kv.MaxNumber {
			return numberWalk{min(int64(at), top), int64(b[0]) - '=', top}, nil
		}
	}
	return numberWalk{}, fmt.Errorf("%s: %w", d.name, ErrBadCursor)
}
