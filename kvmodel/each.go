package kvmodel

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A Walk says how Each goes through the records. The zero Walk goes from the first record to
// the last, as fast as the store answers.
type Walk struct {
	From   string       // how far an earlier Each has come, as its Report was told; "": it begins
	Rate   int          // how many ids are read in a second at most; 0: any number
	Report func(Walked) // is told after each batch how far Each has come; nil: no one is
}

// Walked is how far Each has come.
type Walked struct {
	To   string // what Walk.From takes to go on from there
	Done int64  // ids that were read in this call
	Left int64  // about how many are left
}

// Each calls f with every record once, 100 a trip, in no order, until f returns an error, which
// Each then returns. It is for jobs that touch every record, at any number of records.
//
// An Each that goes on from where another has come to misses no record that was there when
// the first began and still is. What was given since the last Report is given again.
//
// What is damaged or lost does not end Each: f gets the others first, and then the error is
// an ErrCorrupt or an ErrLost, as that of All.
func (r *Records[T, K]) Each(ctx context.Context, w Walk, f func(*T) error) error {
	return r.m.walk(ctx, w, func(v plug.Record) error { return f(v.(*T)) })
}

func (m *model) walk(ctx context.Context, w Walk, give func(plug.Record) error) error {
	if w.Rate < 0 {
		return fmt.Errorf("%s.Each: %w: a rate of %d a second", m.name, ErrInvalid, w.Rate)
	}
	ctx, end := m.db.Begin(ctx, "Each")
	defer end()
	e := &each{model: m, ctx: ctx, Walk: w, give: give, began: time.Now()}
	err := e.run()
	if e.refused != nil {
		return e.refused
	}
	return m.failure("each", cmp.Or(err, joined(e.damaged)))
}

// each is a call of Each.
type each struct {
	*model
	Walk
	ctx     context.Context
	give    func(plug.Record) error
	began   time.Time
	done    int64
	refused error   // what give has returned
	damaged []error // of records, the first of them
}

func (e *each) run() error {
	from, err := e.from()
	if err != nil {
		return err
	}
	return e.eachFrom(e.ctx, from, func(ids []string, to enumeration.Reached, left func() int64) error {
		if err := e.batch(ids); err != nil {
			return err
		}
		if e.Report != nil {
			e.Report(Walked{To: e.cursor(to), Done: e.done, Left: left()})
		}
		return nil
	})
}

// batch gives the records with ids. It waits first if those before came too fast.
func (e *each) batch(ids []string) error {
	if e.Rate > 0 && !kv.Sleep(e.ctx, time.Until(e.began.Add(time.Duration(e.done)*time.Second/time.Duration(e.Rate)))) {
		return kv.TooLate(e.ctx)
	}
	recs, err := e.see(e.ctx, e.db.store, ids)
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

// damagedNamed is how many damaged records the error of Each names at most.
const damagedNamed = 100

// from returns where the walk begins.
func (e *each) from() (at enumeration.Reached, err error) {
	if e.From == "" {
		return at, nil
	}
	position, err := ParseCursor(e.name(), e.From)
	if err != nil {
		return at, err
	}
	number, n := binary.Uvarint(position)
	if n <= 0 || number > kv.MaxNumber {
		return at, fmt.Errorf("%s: %w", e.model.name, ErrBadCursor)
	}
	return enumeration.Reached{Number: int64(number), Key: string(position[n:])}, nil
}

// name is what the cursors of the walk are of.
func (e *each) name() string { return e.model.name + ".Each" }

func (e *each) cursor(at enumeration.Reached) string {
	return Cursor(e.name(), append(binary.AppendUvarint(nil, uint64(at.Number)), at.Key...))
}
