package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/console"
)

// repair checks, and mends what that finds.
func repair(ctx context.Context, c *call) error {
	only, err := kindsOf(c.only)
	if err != nil {
		return err
	}
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	r, err := c.checked(ctx, in, nil)
	if err != nil {
		return err
	}
	faults := ofKinds(r.Faults, only)
	if err := c.plan(ctx, in, r, faults); err != nil {
		return err
	}
	if err := c.confirm(ctx, fmt.Sprintf("Mend %s?", console.Some(len(faults), "fault", "faults"))); err != nil {
		if err == errIdle {
			err = errDiffers
		}
		return err
	}
	if in, err = c.writer(ctx); err != nil {
		return err
	}
	return c.mend(ctx, in, faults)
}

// kindsOf returns the kinds that --only names.
func kindsOf(only string) ([]string, error) {
	if only == "" {
		return nil, nil
	}
	names := strings.Split(strings.ReplaceAll(only, " ", "-"), ",")
	for _, name := range names {
		if !slices.Contains(kindNames(), name) {
			return nil, unknown("kind of faults", name, kindNames())
		}
	}
	return strings.Split(strings.ReplaceAll(only, "-", " "), ","), nil
}

func ofKinds(faults []Fault, only []string) []Fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f Fault) bool { return len(only) > 0 && !slices.Contains(only, f.Kind) })
}

// plan says what would be done about faults. If there are none it says that, and returns what
// the verb is to return.
func (c *call) plan(ctx context.Context, in *Inspector, r Report, faults []Fault) error {
	c.unasked(r)
	if len(faults) == 0 {
		c.Tell("there is nothing to mend")
		if !c.fine(r) {
			return errDiffers
		}
		return errIdle // Nothing is written.
	}
	var failed error
	_, err := in.Repair(ctx, faults, RepairOptions{Dry: true, Done: func(m Mended) {
		if err := c.mended("planned", m); failed == nil {
			failed = err
		}
	}})
	if more := total(r.Counts) - int64(len(r.Faults)); more > 0 {
		c.Tell("and %s more, for another call", console.Number(more))
	}
	return cmp.Or(err, failed)
}

func total(counts map[string]int64) (n int64) {
	for _, count := range counts {
		n += count
	}
	return n
}

// mended shows what is done about a fault.
func (c *call) mended(kind string, m Mended) error {
	if c.json {
		return c.Object(kind, mendedObject{m.Fault, m.Did, errorText(m.Err)})
	}
	switch {
	case kind == "planned":
		c.Say("%s   %s -> %s", m.head(), m.Text, m.Did)
	case m.Err != nil:
		c.Say("%s: FAILED: %v", m.head(), m.Err)
	default:
		c.Say("%s: %s", m.head(), m.Did)
	}
	return nil
}

type mendedObject struct {
	Fault
	Did   string `json:"did"`
	Error string `json:"error,omitempty"`
}

// mend mends faults, and says what is left.
func (c *call) mend(ctx context.Context, in *Inspector, faults []Fault) error {
	p := c.progress()
	var failed error
	done, err := in.Repair(ctx, faults, RepairOptions{Pace: Pace{Rate: c.rate, Progress: p.step}, Done: func(m Mended) {
		if err := c.mended("mended", m); failed == nil {
			failed = err
		}
	}})
	if err != nil || failed != nil {
		return cmp.Or(p.stopped(ctx, err), failed)
	}
	for _, f := range done.Left {
		if c.json {
			err = c.Object("left", f)
		} else {
			c.Say("left: %s   %s", f.head(), f.Text)
		}
		if err != nil {
			return err
		}
	}
	c.Tell("%s mended, %s left", console.Number(done.Mended), console.Number(len(done.Left)))
	if len(done.Left) > 0 {
		return errDiffers
	}
	return nil
}
