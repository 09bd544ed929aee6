package costs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/examples/conduit/tour"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// section is a table of the page: rows measured one after another in a world of their own.
type section struct {
	title string
	text  string // the common text of the rows
	fill  func(*world) error
	warm  func(*world) error // reads the definitions of its boards
	rows  []row
}

type row struct {
	name   string
	before func(*world) error // prepares the call, unmeasured
	wait   time.Duration      // before the call; 0: seconds
	do     func(*world) error
	want   error
}

const (
	definitionsLast = 6 * time.Second  // longer than a process caches the definition of a board
	atOnce          = time.Millisecond // the wait of a row that needs the record in memory
)

// Table is the cost of a section's rows before the reply.
type Table struct {
	Title string
	Text  string
	Rows  []Row
}

type Row struct {
	Name  string
	Costs [3]kvmodel.Cost // by kinds
}

func Measure(ctx context.Context) ([]Table, error) {
	var tables []Table
	for _, s := range sections {
		t, err := s.measure(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.title, err)
		}
		tables = append(tables, t)
	}
	return tables, nil
}

func (s section) measure(ctx context.Context) (Table, error) {
	t := Table{Title: s.title, Text: s.text, Rows: make([]Row, len(s.rows))}
	for k, kind := range kinds {
		w, err := newWorld(ctx, kind)
		if err == nil && s.fill != nil {
			err = s.fill(w)
		}
		if err != nil {
			return t, fmt.Errorf("on %s: %w", kind.name, err)
		}
		for i, r := range s.rows {
			t.Rows[i].Name = r.name
			if s.warm != nil {
				w.clock.pass(definitionsLast)
				err = s.warm(w)
			}
			if err == nil {
				t.Rows[i].Costs[k], err = w.cost(r)
			}
			if err != nil {
				return t, fmt.Errorf("%s on %s: %w", r.name, kind.name, err)
			}
		}
		leave(ctx, w.db)
	}
	return t, nil
}

// cost measures a row after background work has ended.
func (w *world) cost(r row) (kvmodel.Cost, error) {
	if err := w.db.Repair(w.ctx); err != nil { // as it does by itself every 15 seconds
		return kvmodel.Cost{}, err
	}
	if r.before != nil {
		if err := r.before(w); err != nil {
			return kvmodel.Cost{}, fmt.Errorf("before it: %w", err)
		}
	}
	if err := w.db.Flush(w.ctx); err != nil {
		return kvmodel.Cost{}, err
	}
	if err := tour.Wait(w.ctx, w.db, w.clock.pass, cmp.Or(r.wait, tour.Pause)); err != nil {
		return kvmodel.Cost{}, err
	}
	defer func() { w.ctx = w.own }()
	var meter *kv.Meter
	w.ctx, meter = kvmodel.Metered(w.own)
	if err := r.do(w); !errors.Is(err, r.want) {
		return kvmodel.Cost{}, fmt.Errorf("it returns %v, want %v", err, r.want)
	}
	return meter.Cost(), nil
}
