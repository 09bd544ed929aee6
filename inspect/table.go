package inspect

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ringtree/ringtree/inspect/internal/console"
)

// TableOptions configure a table.
type TableOptions struct {
	Pace
	CSV  bool // instead of JSON objects, one a line
	Open bool // private fields, too
}

// Table writes the fields and plain counters of a model's records for people, spreadsheets and SQL,
// and returns the number of records. In CSV, zero times are empty, bytes are base64, lists and maps
// JSON. Private fields are masked, unless o.Open is set. Import reads no tables.
func (in *Inspector) Table(ctx context.Context, w io.Writer, name string, o TableOptions) (n int64, err error) {
	m, err := in.model(name)
	if err != nil {
		return 0, err
	}
	st, err := m.State(ctx)
	if err != nil {
		return 0, err
	}
	t, err := newTable(m, w, o)
	if err != nil {
		return 0, err
	}
	pace := o.begin("export", name, st.IDs)
	err = m.IDs(ctx, "", func(ids []string, _ string) error {
		if err := inTrips(ids, func(some []string) error { return t.add(ctx, in, some) }); err != nil {
			return err
		}
		return pace.did(ctx, len(ids), "")
	})
	if err != nil {
		return t.n, err
	}
	return t.n, t.end()
}

type table struct {
	TableOptions
	m       model
	columns []string
	n       int64

	to  io.Writer
	csv *csv.Writer
}

func newTable(m model, w io.Writer, o TableOptions) (*table, error) {
	empty, err := m.Body(nil)
	if err != nil {
		return nil, err
	}
	fields, err := fieldsOf(empty)
	if err != nil {
		return nil, err
	}
	t := &table{TableOptions: o, m: m, to: w}
	for _, f := range fields {
		t.columns = append(t.columns, f.Name)
	}
	t.columns = append(t.columns, m.Counters()...)
	if o.CSV {
		t.csv = csv.NewWriter(w)
		return t, t.csv.Write(t.columns)
	}
	return t, nil
}

// A damaged record is an error: a table must be complete.
func (t *table) add(ctx context.Context, in *Inspector, ids []string) error {
	sights, err := t.m.See(ctx, in.store, ids)
	if err != nil {
		return err
	}
	for i := range sights {
		s := &sights[i]
		if s.Err != nil {
			return fmt.Errorf("%w; repair or delete it first", s.Err)
		}
		if !s.Live() {
			continue
		}
		body, err := t.m.Body(s)
		if err != nil {
			return err
		}
		fields, err := fieldsOf(body)
		if err != nil {
			return fmt.Errorf("%s %s: %w", t.m.Name(), s.ID, err)
		}
		for i, counter := range t.m.Counters() {
			fields = append(fields, Field{counter, s.Counts[i]})
		}
		if err := t.row(fields); err != nil {
			return fmt.Errorf("%s %s: %w", t.m.Name(), s.ID, err)
		}
		t.n++
	}
	return nil
}

func (t *table) row(fields Fields) error {
	for i := range fields {
		if !t.Open && slices.Contains(t.m.Private(), fields[i].Name) {
			fields[i].Value = Masked
		}
	}
	if t.csv != nil {
		return t.cells(fields)
	}
	line, err := fields.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = t.to.Write(append(line, '\n'))
	return err
}

var errColumn = errors.New("an empty record lacks this field, so the table has no column for it; use --format jsonl")

func (t *table) cells(fields []Field) error {
	cells := make([]string, len(t.columns))
	for _, f := range fields {
		i := slices.Index(t.columns, f.Name)
		if i < 0 {
			return fmt.Errorf("%s: %w", f.Name, errColumn)
		}
		var err error
		if cells[i], err = cellOf(f.Value); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return t.csv.Write(cells)
}

func (t *table) end() error {
	if t.csv == nil {
		return nil
	}
	t.csv.Flush()
	return t.csv.Error()
}

// Lists and maps are JSON in a cell, and nil is empty.
func cellOf(v any) (string, error) {
	switch v := plain(v).(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	default:
		data, err := console.JSON(v)
		return string(data), err
	}
}
