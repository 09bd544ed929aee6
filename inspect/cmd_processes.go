package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// between is how long after its first look ps looks again. A process that writes ticks every
// second.
const between = 2 * time.Second

// ps shows the processes that have journals.
func ps(ctx context.Context, c *call) error {
	if _, err := c.reader(ctx); err != nil {
		return err
	}
	before, err := c.db.Writers(ctx)
	if err != nil {
		return err
	}
	if len(before) > 0 && !kv.Sleep(ctx, between) {
		return errStopped
	}
	all, err := c.db.Writers(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 && !c.json {
		c.Say("no process writes, and none has left anything")
	}
	return c.writers(all, ticksOf(before))
}

// ticksOf returns the ticks of processes.
func ticksOf(all []kvmodel.Writer) map[string]uint64 {
	ticks := make(map[string]uint64)
	for _, w := range all {
		ticks[w.Process] = w.Tick
	}
	return ticks
}

// writers shows all. Ticks are those of a moment ago.
func (c *call) writers(all []kvmodel.Writer, ticks map[string]uint64) error {
	var wrong error
	rows := [][]string{{"process", "name", "state", "changes", "handlers of", ""}}
	for _, w := range all {
		state := stateOf(w, ticks)
		if state == "silent" || hasOther(&w) || w.Damaged != nil {
			wrong = errDiffers
		}
		if c.json {
			if err := c.Object("process", objectOfWriter(&w, state)); err != nil {
				return err
			}
		}
		rows = append(rows, []string{c.called(&w), w.Process, state, console.Number(w.Lines), strings.Join(w.Handles, " "), remarkOn(w)})
	}
	if !c.json && len(all) > 0 {
		c.Table(rows)
	}
	return wrong
}

// called returns what people call the process of w.
func (c *call) called(w *kvmodel.Writer) string { return w.Called(c.db.Now()) }

// stateOf says what a process does. One that has nothing to do does not tick.
func stateOf(w kvmodel.Writer, ticks map[string]uint64) string {
	last, seen := ticks[w.Process]
	switch {
	case !seen || w.Tick > last:
		return "writes"
	case isRepaired(&w):
		return "dead, repaired"
	case w.Lines == 0:
		return "idle"
	}
	return "silent"
}

func remarkOn(w kvmodel.Writer) string {
	var all []string
	if len(w.Other) > 0 {
		all = append(all, "other indexes of "+strings.Join(w.Other, ", "))
	}
	if w.Damaged != nil {
		all = append(all, "DAMAGED: "+w.Damaged.Error())
	}
	return strings.Join(all, "; ")
}

type writerObject struct {
	Process  string     `json:"process"` // its name
	Host     string     `json:"host,omitempty"`
	PID      int        `json:"pid,omitempty"`
	Release  string     `json:"release,omitempty"`
	Since    *time.Time `json:"since,omitempty"`
	State    string     `json:"state,omitempty"`
	Changes  int        `json:"changes"`
	Handles  []string   `json:"handles,omitempty"`
	Other    []string   `json:"other,omitempty"`
	Repaired *time.Time `json:"repaired,omitempty"`
	Damaged  string     `json:"damaged,omitempty"`
}

func objectOfWriter(w *kvmodel.Writer, state string) writerObject {
	o := writerObject{
		Process: w.Process, Host: w.Origin.Host, PID: w.Origin.PID, Release: w.Origin.Release,
		State: state, Changes: w.Lines, Handles: w.Handles, Other: w.Other, Damaged: errorText(w.Damaged),
	}
	if !w.Origin.IsZero() {
		o.Since = &w.Origin.Since
	}
	if !w.Repaired.IsZero() {
		o.Repaired = &w.Repaired
	}
	return o
}

const (
	drainEvery = 2 * time.Second

	// drainFor is how long drain waits: for half a minute a process may be taken for one
	// that lives, and then there is what it has left.
	drainFor = 2 * time.Minute
)

// drain finishes what dead processes have left.
func drain(ctx context.Context, c *call) error {
	if _, err := c.reader(ctx); err != nil {
		return err
	}
	all, err := c.db.Writers(ctx)
	if err != nil {
		return err
	}
	if err := c.known(all); err != nil {
		return err
	}
	left := c.undone(all, nil)
	if len(left) == 0 {
		c.Say("no process has left anything")
		return nil
	}
	for _, w := range left {
		c.Say("process %s has %s in its journal", c.called(&w), console.Some(w.Lines, "change", "changes"))
	}
	if err := c.confirm(ctx, "Finish them, where the process is dead?"); err != nil {
		return err
	}
	if _, err := c.writer(ctx); err != nil {
		return err
	}
	return c.drainAll(ctx, ticksOf(all))
}

// known returns an error if the process to be drained has no journal.
func (c *call) known(all []kvmodel.Writer) error {
	var names []string
	for _, w := range all {
		names = append(names, w.Process)
	}
	if name := c.arg(0); name != "" && !slices.Contains(names, name) {
		return unknown("process", name, names)
	}
	return nil
}

// undone returns those of all that have left something, as far as they are to be drained. One
// whose tick has risen lives.
func (c *call) undone(all []kvmodel.Writer, ticks map[string]uint64) (left []kvmodel.Writer) {
	for _, w := range all {
		last, seen := ticks[w.Process]
		lives := ticks != nil && (!seen || w.Tick > last)
		chosen := c.arg(0) == "" || c.arg(0) == w.Process
		if chosen && !lives && !w.Own && w.Lines > 0 && w.Repaired.IsZero() {
			left = append(left, w)
		}
	}
	return left
}

// drainAll repairs until nothing is left, but for what those have that live.
func (c *call) drainAll(ctx context.Context, ticks map[string]uint64) error {
	p := c.progress()
	for began := time.Now(); ; {
		failed := c.db.Repair(ctx)
		all, err := c.db.Writers(ctx)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return p.stopped(ctx, err)
		}
		left := c.undone(all, ticks)
		if len(left) == 0 {
			return c.drained(all, ticks)
		}
		if time.Since(began) > drainFor || !slices.ContainsFunc(left, awaitsMore) {
			return c.undrained(left, failed)
		}
		p.step(Step{Verb: "drain", What: c.called(&left[0]), Found: int64(len(left))})
		if !kv.Sleep(ctx, drainEvery) {
			return p.stopped(ctx, ctx.Err())
		}
	}
}

// awaitsMore reports whether more is left of w than intents that have failed in this process.
// Those come last.
func awaitsMore(w kvmodel.Writer) bool {
	return !slices.ContainsFunc(w.Intents, func(u kvmodel.Underway) bool { return u.Known && u.Err != nil })
}

// undrained says what is left.
func (c *call) undrained(left []kvmodel.Writer, failed error) error {
	c.Done()
	for _, w := range left {
		c.Say("process %s: %s left", c.called(&w), console.Some(w.Lines, "change is", "changes are"))
		for _, u := range w.Intents {
			if u.Err != nil {
				c.Say("process %s: the intent %s fails, and is tried again every 15 seconds: %v", c.called(&w), u.Name, u.Err)
			}
		}
		if len(w.Handles) > 0 {
			c.Say("process %s: it had handlers of %s, which a program that has none does not call", c.called(&w), strings.Join(w.Handles, ", "))
		}
	}
	if failed != nil {
		return failed
	}
	return fmt.Errorf("%w: what is left waits for a program with the models, the indexes and the handlers that it is of", errStopped)
}

// drained says how it has ended.
func (c *call) drained(all []kvmodel.Writer, ticks map[string]uint64) error {
	c.Done()
	for _, w := range all {
		if last, seen := ticks[w.Process]; !w.Own && (c.arg(0) == "" || c.arg(0) == w.Process) && (!seen || w.Tick > last) && w.Lines > 0 {
			c.Say("process %s lives, and was left alone", c.called(&w))
			if c.arg(0) != "" {
				return fmt.Errorf("%w: process %s lives", errRefused, c.called(&w))
			}
		}
	}
	c.Say("what dead processes had left is finished")
	return nil
}
