package inspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/console"
)

func check(ctx context.Context, c *call) error {
	if c.repair {
		return repair(ctx, c)
	}
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	var failed error
	r, err := c.checked(ctx, in, c.arg(0), func(f Fault) {
		if err := c.fault(f); failed == nil {
			failed = err
		}
	})
	if err != nil || failed != nil {
		return cmp.Or(err, failed)
	}
	if c.json() {
		err = c.Object("check", struct {
			Report
			Seconds float64 `json:"seconds"`
		}{r, r.Took.Seconds()})
	} else {
		c.reportText(r)
	}
	if err == nil && !c.fine(r) {
		err = errDiffers
	}
	return err
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

// fine reports whether a check was complete and found no faults.
func (c *call) fine(r Report) bool {
	asked := len(r.Unasked) == 0 || c.quick || c.resume != ""
	return len(r.Counts) == 0 && asked
}

func (c *call) fault(f Fault) error {
	return c.show("fault", f, "%s   %s", f.head(), f.Text)
}

// head returns the kind and the location of f.
func (f *Fault) head() string {
	return strings.TrimSpace(f.Kind + "   " + strings.Trim(f.Model+"."+f.Index, ".") + " " + f.ID)
}

// unasked lists the checks that could not be made.
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

// countsText returns the number of faults of each kind.
func countsText(counts map[string]int64) string {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s x %s", console.Number(counts[kind]), kind))
	}
	return strings.Join(all, ", ")
}
