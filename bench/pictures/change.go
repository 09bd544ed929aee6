package pictures

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/bench/internal/stores"
	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/templates"
)

// mortal is the store of a process that can be killed. It records the trips.
type mortal struct {
	stores.Outliving
	mu    sync.Mutex
	trips [][]kv.Op
	last  int // trips after which it dies; 0: it lives
}

var errKilled = kv.Unavailable(errors.New("the process was killed"))

func (m *mortal) Do(ctx context.Context, ops []kv.Op) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last > 0 && len(m.trips) >= m.last {
		return kv.Fail(ops, errKilled)
	}
	err := m.Store.Do(ctx, ops)
	m.trips = append(m.trips, slices.Clone(ops))
	return err
}

// begin makes w a process that has written before, with recorded trips.
func (w *world) begin() (*mortal, error) {
	m := &mortal{Outliving: stores.Outliving{Store: w.server()}}
	if err := w.open(m); err != nil {
		return nil, err
	}
	err := w.Pages.Create(w.ctx, &examples.Page{ID: "p1", Slug: "home", Title: "Welcome"})
	err = errors.Join(err, w.db.Flush(w.ctx))
	m.trips = nil
	return m, err
}

// change gives a page another address.
func (w *world) change() error {
	_, err := w.Pages.Update(w.ctx, "p1", func(p *examples.Page) error { p.Slug = "welcome"; return nil })
	return err
}

var steps = []struct{ name, note string }{
	{"A0: read the record", ""},
	{"A1: a line in the journal, and the new entries", "Nobody sees these: an entry counts when its record says so."},
	{"A2: commit", "One write of one key: now the change is true. The reply follows."},
	{"A4, after the reply: what is in the old places?", "Readers pass over these until they go: the record does not say so."},
	{"A4: they go, if nobody has changed them since", ""},
}

var process = regexp.MustCompile(`^(line|out):[^:]+`)

func write(w *world) (templates.Picture, error) {
	m, err := w.begin()
	if err == nil {
		w.clock.Pass(2 * time.Second) // It no longer has the record in memory.
		err = errors.Join(w.change(), w.db.Flush(w.ctx))
	}
	if err != nil {
		return nil, err
	}
	p := templates.StepsPicture{Title: "How a page gets another address: each step is a trip"}
	for i, trip := range m.trips {
		if i == len(steps) {
			return nil, fmt.Errorf("the change takes more than %d trips", i)
		}
		step := templates.Step{Name: steps[i].name, Note: steps[i].note, Now: i == 2}
		slices.SortStableFunc(trip, func(a, b kv.Op) int { return cmp.Compare(a.Key, b.Key) })
		for _, op := range trip {
			step.Keys = append(step.Keys, templates.StepKey{Op: op.Kind.String(), Key: process.ReplaceAllString(op.Key, "$1:PROCESS"), Holds: holds(op)})
		}
		p.Steps = append(p.Steps, step)
	}
	return p, nil
}

func holds(op kv.Op) string {
	switch op.Key[:2] {
	case "li":
		return "what is about to change"
	case "u:":
		return "the claim of an address"
	case "r:":
		return "the record"
	}
	return ""
}

// crash kills the process after each trip of the change, and shows the view of others, at once
// and after their repair.
func crash(w *world) (templates.Picture, error) {
	p := templates.StepsPicture{Title: "How a change ends whose process is killed"}
	for last := 1; last < len(steps); last++ {
		w, err := newWorld(w.ctx)
		if err != nil {
			return nil, err
		}
		step, err := w.killed(last)
		if err != nil {
			return nil, fmt.Errorf("killed after %d trips: %w", last, err)
		}
		p.Steps = append(p.Steps, step)
	}
	return p, nil
}

func (w *world) killed(last int) (templates.Step, error) {
	step := templates.Step{
		Name: "killed after " + []string{"A0", "A1", "A2, the commit", "the first half of A4"}[last-1],
		Note: "The caller has no reply.", Now: last == 3,
	}
	m, err := w.begin()
	if err != nil {
		return step, err
	}
	w.clock.Pass(2 * time.Second)
	m.last = last
	err = w.change()
	if err != nil && !kv.Failed(err) {
		return step, err
	}
	if err == nil {
		step.Note = "The caller has the reply."
	}
	ended, cancel := context.WithTimeout(w.ctx, 10*time.Millisecond)
	defer cancel()
	_ = w.db.Flush(ended) // the work it can still do

	if err := w.open(w.server()); err != nil { // another process
		return step, err
	}
	at, err := w.seen("at once")
	if err != nil {
		return step, err
	}
	// It counts as dead after half a minute.
	err = w.db.Repair(w.ctx)
	for range 3 {
		w.clock.Pass(20 * time.Second)
		err = errors.Join(err, w.db.Repair(w.ctx))
	}
	later, err2 := w.seen("repaired")
	report, err3 := inspect.New(w.db).Check(w.ctx, inspect.CheckOptions{})
	if err := errors.Join(err, err2, err3); err != nil {
		return step, err
	}
	if !report.Well() {
		return step, fmt.Errorf("something is still wrong: %+v", report)
	}
	step.Keys = []templates.StepKey{at, later}
	return step, nil
}

// seen lists the claims of addresses, and the addresses that lead to the page. A stale claim is
// removed once it was looked up.
func (w *world) seen(when string) (templates.StepKey, error) {
	var claims []string
	for _, key := range w.mem.Keys() {
		if len(key) > 14 && key[:14] == "u:Page:BySlug:" {
			claims = append(claims, key[14:])
		}
	}
	slices.Sort(claims)
	found := ""
	for _, slug := range []string{"home", "welcome"} {
		_, err := w.Pages.BySlug.Find(w.ctx, slug)
		if err == nil {
			found += slug
		} else if !errors.Is(err, kvmodel.ErrNotFound) {
			return templates.StepKey{}, err
		}
	}
	return templates.StepKey{Op: when, Key: "found by “" + found + "”", Holds: fmt.Sprint("claims ", claims)}, nil
}
