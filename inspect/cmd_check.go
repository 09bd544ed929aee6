package inspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func check(ctx context.Context, c *call) error {
	if c.repair {
		return repair(ctx, c)
	}
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	r, err := c.checked(ctx, in, c.arg(0), c.fault)
	if err != nil {
		return err
	}
	if c.json() {
		c.Object("check", struct {
			Report
			Seconds float64 `json:"seconds"`
		}{r, r.Took.Seconds()})
	} else {
		c.reportText(r)
	}
	if !c.fine(r) {
		return errDiffers
	}
	return nil
}

func (c *call) checked(ctx context.Context, in *Inspector, what string, found func(Fault)) (Report, error) {
	if name, _, _ := strings.Cut(c.resume, " "); name != "" {
		if _, err := in.model(name); err != nil {
			return Report{}, fmt.Errorf("--resume: %w", err)
		}
	}
	return long(ctx, c, func(p Pace) (Report, error) {
		return in.Check(ctx, CheckOptions{Pace: p, What: what, Quick: c.quick, Found: found})
	})
}

func (c *call) fine(r Report) bool {
	asked := len(r.Unasked) == 0 || c.quick || c.resume != ""
	return len(r.Counts) == 0 && asked
}

func (c *call) fault(f Fault) {
	c.show("fault", f, "%s   %s", f.head(), f.Text)
}

func (f *Fault) head() string {
	return strings.TrimSpace(f.Kind + "   " + strings.Trim(f.Model+"."+f.Index, ".") + " " + f.ID)
}

func (c *call) unasked(r Report) {
	for _, text := range r.Unasked {
		c.Tell("not checked: %s", text)
	}
}

func (c *call) reportText(r Report) {
	c.unasked(r)
	if r.Foreign > 0 {
		c.Say("%s not of this program's models", console.Some(r.Foreign, "key is", "keys are"))
	}
	looked := fmt.Sprintf("%s and %s in %s", console.Some(r.Records, "record", "records"), console.Some(r.Keys, "key", "keys"), console.Span(r.Took))
	switch {
	case len(r.Counts) > 0:
		c.Say("%s: %s", looked, countsText(r.Counts))
		c.Say("next: %s", c.command(append([]string{"check", "--repair"}, c.args...)...))
	case len(r.Unasked) > 0:
		c.Say("%s: no problem in the checked parts", looked)
	default:
		c.Say("%s: all is well", looked)
	}
}

func countsText(counts map[string]int64) string {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s x %s", console.Number(counts[kind]), kind))
	}
	return strings.Join(all, ", ")
}

// repair first finishes the changes of dead processes, which may be the faults.
func repair(ctx context.Context, c *call) error {
	if err := c.finish(ctx); err != nil {
		return err
	}
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	r, err := c.checked(ctx, in, c.arg(0), nil)
	if err != nil {
		return err
	}
	if err := c.plan(ctx, in, r); err != nil {
		return err
	}
	if err := c.confirm(ctx, fmt.Sprintf("Repair %s?", console.Some(len(r.Faults), "fault", "faults"))); err != nil {
		if err == errIdle {
			err = errDiffers
		}
		return err
	}
	if in, err = c.open(ctx); err != nil {
		return err
	}
	return c.repairAll(ctx, in, r.Faults)
}

const (
	finishEvery = 2 * time.Second

	// For half a minute a dead process may pass for a live one, and others finish its changes only
	// afterwards.
	finishFor = 2 * time.Minute
)

// finish waits until this or another process has completed the changes of dead processes.
func (c *call) finish(ctx context.Context) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	left, err := c.left(ctx, in)
	if err != nil || len(left) == 0 {
		return err
	}
	for _, w := range left {
		c.Tell("process %s is dead, and left %s", c.called(&w), console.Some(w.Lines, "change", "changes"))
	}
	if err := c.confirm(ctx, "Finish them?"); err != nil {
		if err == errIdle {
			err = nil
		}
		return err
	}
	if in, err = c.open(ctx); err != nil {
		return err
	}
	p := c.progress()
	for until := time.Now().Add(finishFor); ; {
		failed := c.db.Repair(ctx)
		left, err := c.left(ctx, in)
		switch {
		case err != nil || ctx.Err() != nil:
			return p.stopped(ctx, cmp.Or(err, ctx.Err()))
		case len(left) == 0:
			c.Tell("they are finished")
			return nil
		case time.Now().After(until) || !slices.ContainsFunc(left, awaitsMore):
			return c.unfinished(left, failed)
		}
		p.step(Step{Verb: "finish", What: c.called(&left[0]), Found: int64(len(left))})
		if !kv.Sleep(ctx, finishEvery) {
			return p.stopped(ctx, ctx.Err())
		}
	}
}

func (c *call) left(ctx context.Context, in *Inspector) ([]kvmodel.Writer, error) {
	all, err := c.db.Writers(ctx)
	st := Status{Writers: all}
	if err == nil {
		err = in.leavers(ctx, &st)
	}
	return slices.DeleteFunc(st.Writers, func(w kvmodel.Writer) bool { return w.Own || !w.Dead || !in.hasLeft(&w) }), err
}

// Failed intents come last.
func awaitsMore(w kvmodel.Writer) bool {
	return !slices.ContainsFunc(w.Intents, func(u kvmodel.Underway) bool { return u.Known && u.Err != nil })
}

func (c *call) unfinished(left []kvmodel.Writer, failed error) error {
	c.Done()
	for _, w := range left {
		c.Tell("process %s: %s left", c.called(&w), console.Some(w.Lines, "change is", "changes are"))
		for _, u := range w.Intents {
			if u.Err != nil {
				c.Tell("process %s: the intent %s fails, and is tried again every 15 seconds: %v", c.called(&w), u.Name, u.Err)
			}
		}
		if len(w.Handles) > 0 {
			c.Tell("process %s: it had handlers of %s, which a program that has none does not call", c.called(&w), strings.Join(w.Handles, ", "))
		}
	}
	if failed != nil {
		return failed
	}
	return fmt.Errorf("%w: the remaining changes need a program with their models, indexes and handlers", errStopped)
}

func (c *call) plan(ctx context.Context, in *Inspector, r Report) error {
	c.unasked(r)
	if len(r.Faults) == 0 {
		c.Tell("there is nothing to repair")
		if !c.fine(r) {
			return errDiffers
		}
		return errIdle // Nothing is written.
	}
	_, err := in.Repair(ctx, r.Faults, RepairOptions{Dry: true, Done: func(m Mended) { c.repaired("planned", m) }})
	if more := total(r.Counts) - int64(len(r.Faults)); more > 0 {
		c.Tell("and %s more, for another call", console.Number(more))
	}
	return err
}

func total(counts map[string]int64) (n int64) {
	for _, count := range counts {
		n += count
	}
	return n
}

func (c *call) repaired(kind string, m Mended) {
	switch {
	case kind == "planned":
		c.show(kind, m, "%s   %s -> %s", m.head(), m.Text, m.Did)
	case m.Err != nil:
		c.show(kind, m, "%s: FAILED: %v", m.head(), m.Err)
	default:
		c.show(kind, m, "%s: %s", m.head(), m.Did)
	}
}

func (c *call) repairAll(ctx context.Context, in *Inspector, faults []Fault) error {
	p := c.progress()
	done, err := in.Repair(ctx, faults, RepairOptions{Pace: p.pace(), Done: func(m Mended) { c.repaired("mended", m) }})
	if err != nil {
		return p.stopped(ctx, err)
	}
	for _, f := range done.Left {
		c.show("left", f, "left: %s   %s", f.head(), f.Text)
	}
	c.Tell("%s repaired, %s left", console.Number(done.Mended), console.Number(len(done.Left)))
	if len(done.Left) > 0 {
		return errDiffers
	}
	return nil
}
