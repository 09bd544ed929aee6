package inspect

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/console"
)

// sweep deletes what no model has any more.
func sweep(ctx context.Context, c *call) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	p := c.progress()
	all, err := in.Leftovers(ctx, Pace{Rate: c.rate, Progress: p.step})
	if err != nil {
		return p.stopped(ctx, err)
	}
	c.Done()
	var names []string
	for _, left := range all {
		if len(c.args) > 0 && left.What != c.args[0] {
			continue
		}
		names = append(names, left.What)
		if c.json() {
			err = cmp.Or(err, c.Object("leftover", left))
		} else {
			c.Say("%s: %s, %s, such as %s", left.What, console.Some(left.Keys, "key", "keys"), console.Size(left.Bytes), left.Sample)
		}
	}
	if err != nil {
		return err
	}
	if len(names) == 0 {
		c.Tell("nothing is left over")
		return nil
	}
	if err := c.confirm(ctx, fmt.Sprintf("Delete what is left over of %s? No other release may need it.", strings.Join(names, ", "))); err != nil {
		return err
	}
	if in, err = c.writer(ctx); err != nil {
		return err
	}
	n, err := in.Sweep(ctx, names, Pace{Rate: c.rate, Progress: p.step})
	if err != nil {
		return p.stopped(ctx, err)
	}
	c.Done()
	c.Tell("%s deleted", console.Some(n, "key", "keys"))
	return nil
}

// forget erases a record, and says what still names it.
func forget(ctx context.Context, c *call) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	r, err := in.Get(ctx, c.args[0], c.args[1], false)
	if err != nil {
		return err
	}
	c.Tell("%s", r.summary())
	if err := c.confirm(ctx, fmt.Sprintf("Erase %s %s, its history and its counters, for good?", c.args[0], c.args[1])); err != nil {
		return err
	}
	if in, err = c.writer(ctx); err != nil {
		return err
	}
	p := c.progress()
	f, err := in.Forget(ctx, c.args[0], c.args[1], Pace{Rate: c.rate, Progress: p.step})
	if err != nil {
		return p.stopped(ctx, err)
	}
	c.Done()
	return c.forgotten(f)
}

// forgotten says what has become of a record that was erased.
func (c *call) forgotten(f Forgotten) error {
	lines := []string{fmt.Sprintf("%s %s is erased", f.Model, f.ID)}
	for _, t := range f.Traces {
		lines = append(lines, fmt.Sprintf("%s still stands in %s (%s)", t.What, t.Key, t.Owner))
	}
	for _, text := range f.Unasked {
		lines = append(lines, "not asked: "+text)
	}
	if f.Keys > 0 {
		lines = append(lines, fmt.Sprintf("searched %s and their values; not seen: parts of words, numbers in fields, compressed or encrypted data",
			console.Some(f.Keys, "key", "keys")))
	}
	lines = append(lines, "Backups, exports and logs that were shipped hold it until they end: delete those from before now, or make new ones.")
	if c.json() {
		if err := c.Object("forgotten", f); err != nil {
			return err
		}
	} else {
		c.Say("%s", strings.Join(lines, "\n"))
	}
	if len(f.Traces)+len(f.Unasked) > 0 {
		return errDiffers
	}
	return nil
}
