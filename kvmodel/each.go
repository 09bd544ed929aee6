package kvmodel

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A Walk configures Each. The zero Walk visits all records as fast as the store answers.
type Walk struct {
	From string // a position from Report, to continue from there; "": begin
	Rate int    // maximum number of ids read per second; 0: no limit

	// Report is called after each batch with the position reached, the number of ids read in this
	// call, and about how many are left. May be nil.
	Report func(to string, done, left int64)
}

// Each calls f once with every record, 100 per trip, in no order, until f returns an error, which
// Each returns. An Each that continues another misses no record that existed when the first began
// and still exists; records since the last Report come again. Damaged or lost records do not stop
// it: the ErrCorrupt or ErrLost comes at the end.
func (r *Records[T, K]) Each(ctx context.Context, w Walk, f func(*T) error) error {
	return r.m.walk(ctx, w, func(v plug.Record) error { return f(v.(*T)) })
}

func (m *class) walk(ctx context.Context, w Walk, give func(plug.Record) error) error {
	if w.Rate < 0 {
		return fmt.Errorf("%s.Each: %w: a rate of %d a second", m.Name, ErrInvalid, w.Rate)
	}
	ctx, end := m.Db.Begin(ctx, "Each")
	defer end()
	e := &each{Model: m.Model, ctx: ctx, Walk: w, give: give, began: time.Now()}
	err := e.run()
	if e.refused != nil {
		return e.refused
	}
	return m.Failure("each", cmp.Or(err, core.Joined(e.damaged)))
}

// each is a call of Each.
type each struct {
	*core.Model
	Walk
	ctx     context.Context
	give    func(plug.Record) error
	began   time.Time
	done    int64
	refused error   // the error of give
	damaged []error // the first errors of damaged records
}

func (e *each) run() error {
	from, err := e.from()
	if err != nil {
		return err
	}
	return e.EachFrom(e.ctx, from, func(ids []string, to enumeration.Reached, left func() int64) error {
		if err := e.batch(ids); err != nil {
			return err
		}
		if e.Report != nil {
			e.Report(e.cursor(to), e.done, left())
		}
		return nil
	})
}

// batch passes the records with ids to give. It waits first if the rate is exceeded.
func (e *each) batch(ids []string) error {
	if e.Rate > 0 && !kv.Sleep(e.ctx, time.Until(e.began.Add(time.Duration(e.done)*time.Second/time.Duration(e.Rate)))) {
		return kv.TooLate(e.ctx)
	}
	recs, err := e.See(e.ctx, e.Db.Store, ids)
	if recs == nil {
		return err
	}
	for _, rec := range recs {
		if rec.Err != nil && len(e.damaged) < damagedNamed {
			e.damaged = append(e.damaged, rec.Err)
		}
		if rec.Value == nil {
			continue
		}
		if err := e.give(rec.Value); err != nil {
			e.refused = err
			return err
		}
	}
	e.done += int64(len(ids))
	return nil
}

const damagedNamed = 100

func (e *each) from() (at enumeration.Reached, err error) {
	if e.From == "" {
		return at, nil
	}
	position, err := plug.ParseCursor(e.name(), e.From)
	if err != nil {
		return at, err
	}
	number, n := binary.Uvarint(position)
	if n <= 0 || number > kv.MaxNumber {
		return at, fmt.Errorf("%s: %w", e.Model.Name, ErrBadCursor)
	}
	return enumeration.Reached{Number: int64(number), Key: string(position[n:])}, nil
}

func (e *each) name() string { return e.Model.Name + ".Each" }

func (e *each) cursor(at enumeration.Reached) string {
	return plug.Cursor(e.name(), append(binary.AppendUvarint(nil, uint64(at.Number)), at.Key...))
}
