package costs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/examples/conduit/tour"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const head = `# Costs

This page lists the cost of each method before its reply. ` + "`make docs`" + ` measures and writes the page, and
` + "`make test`" + ` fails if it differs from the code.

- **Trips** are sequential requests to the store. They are counted on three in-memory stores with the
  powers of their namesakes. A **file** has transactions, each of which is one trip. **Redis** carries
  out the operations of a trip in order; a cluster and **memcached** do not, and memcached cannot refuse
  an append.
- **Ops, keys, bytes** are those on Redis: operations, different keys in each trip, and bytes of values to
  two digits. The bytes vary a little from run to run.
- A record is about a KiB. The process has used the same index seconds ago, and has not just read the
  record, unless a row says so. [Another table](#what-a-process-has-to-find-out) has the extra costs
  of a process that has not used it.
- Work **after the reply**, such as removing old entries, is not counted.
`

// Page returns docs/costs.md.
func Page(tables []Table, app []AppRow) []byte {
	var b bytes.Buffer
	b.WriteString(head)
	for _, t := range tables {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", t.Title, t.Text)
		b.WriteString("| call | file | Redis | memcached | ops | keys | bytes read | bytes written |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
		for _, r := range t.Rows {
			on := r.Costs[OnRedis]
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d |\n", r.Name,
				r.Costs[OnFile].Trips, on.Trips, r.Costs[OnMemcached].Trips, on.Ops, on.Keys, about(on.Read), about(on.Wrote))
		}
	}
	b.WriteString(appHead)
	for _, r := range app {
		on := r.Costs[OnRedis]
		fmt.Fprintf(&b, "| `%s` | %s | %d | %d | %d | %d | %d |\n", r.Endpoint, r.With,
			r.Costs[OnFile].Again.Trips, r.Costs[OnMemcached].Again.Trips, on.Again.Trips, on.New.Trips, on.Later.Trips)
	}
	return b.Bytes()
}

func about(n int) int {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit/2) / unit * unit
}

const appHead = `
## An app

The trips of each endpoint of [examples/conduit](../examples/conduit/models.go), with everything that its
response shows: in a process that made the call seconds ago, after a change, and a minute later.

| endpoint | with | file | memcached | Redis | new | later |
|---|---|--:|--:|--:|--:|--:|
`

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
	Costs [3]kv.Cost // by kinds
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
func (w *world) cost(r row) (kv.Cost, error) {
	if err := w.db.Repair(w.ctx); err != nil { // as it does by itself every 15 seconds
		return kv.Cost{}, err
	}
	if r.before != nil {
		if err := r.before(w); err != nil {
			return kv.Cost{}, fmt.Errorf("before it: %w", err)
		}
	}
	if err := w.db.Flush(w.ctx); err != nil {
		return kv.Cost{}, err
	}
	if err := tour.Wait(w.ctx, w.db, w.clock.pass, cmp.Or(r.wait, tour.Pause)); err != nil {
		return kv.Cost{}, err
	}
	defer func() { w.ctx = w.own }()
	var meter *kv.Meter
	w.ctx, meter = kvmodel.Metered(w.own)
	if err := r.do(w); !errors.Is(err, r.want) {
		return kv.Cost{}, fmt.Errorf("it returns %v, want %v", err, r.want)
	}
	return meter.Cost(), nil
}
