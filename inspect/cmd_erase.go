package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/console"
)

func sweep(ctx context.Context, c *call) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	all, err := long(ctx, c, func(p Pace) ([]Leftover, error) { return in.Leftovers(ctx, p) })
	if err != nil {
		return err
	}
	var names []string
	for _, left := range all {
		if len(c.args) > 0 && left.What != c.args[0] {
			continue
		}
		names = append(names, left.What)
		c.show("leftover", left, "%s: %s, %s, such as %s", left.What, console.Some(left.Keys, "key", "keys"), console.Size(left.Bytes), left.Sample)
	}
	if len(names) == 0 {
		c.Tell("%s", strings.TrimSuffix("there are no leftovers of "+c.arg(0), " of "))
		return nil
	}
	question := fmt.Sprintf("Delete the leftovers of %s? No other release may need them.", strings.Join(names, ", "))
	n, err := write(ctx, c, question, func(in *Inspector, p Pace) (int64, error) { return in.Sweep(ctx, names, p) })
	if err != nil {
		return err
	}
	c.Tell("%s deleted", console.Some(n, "key", "keys"))
	return nil
}

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
	question := fmt.Sprintf("Erase %s %s, its history and its counters, for good?", c.args[0], c.args[1])
	f, err := write(ctx, c, question, func(in *Inspector, p Pace) (Forgotten, error) {
		return in.Forget(ctx, c.args[0], c.args[1], p, c.args[2:]...)
	})
	if err != nil {
		return err
	}
	return c.forgotten(f)
}

func (c *call) forgotten(f Forgotten) error {
	lines := []string{fmt.Sprintf("%s %s is erased", f.Model, f.ID)}
	for _, t := range f.Traces {
		in := ""
		if t.Field != "" {
			in = ", in the field " + t.Field
		}
		lines = append(lines, fmt.Sprintf("%s is still in %s (%s%s)", t.What, t.Key, t.Owner, in))
	}
	for _, text := range f.Unasked {
		lines = append(lines, "not checked: "+text)
	}
	if f.Keys > 0 {
		lines = append(lines,
			fmt.Sprintf("searched %s: their names, the fields of records and of their earlier versions, index entries, events and sessions", console.Some(f.Keys, "key", "keys")),
			"not searched: pictures and other binary data, compressed or encrypted values, parts of longer words")
	}
	lines = append(lines, "Backups, exports and shipped logs keep the record: delete those made before now, or make new ones.")
	left := len(f.Traces)+len(f.Unasked) > 0
	if left {
		lines = append(lines, "next: delete or change what is listed, then "+c.command(slices.Concat([]string{"forget", f.Model, f.ID}, f.shown, c.args[2:])...))
	}
	if left && len(f.hidden) > 0 {
		lines = append(lines, "That searches for the private values of "+strings.Join(f.hidden, ", ")+" only if you add them.")
	}
	c.show("forgotten", f, "%s", strings.Join(lines, "\n"))
	if left {
		return errDiffers
	}
	return nil
}
