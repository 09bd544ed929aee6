package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/kvmodel"
)

func build(ctx context.Context, c *call) error {
	if c.resave {
		return resave(ctx, c)
	}
	name, err := c.modelArg()
	if err != nil {
		return err
	}
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	if name != "" {
		if _, err := in.model(name); err != nil {
			return err
		}
	}
	st, err := in.Status(ctx)
	if err = cmp.Or(err, st.Lost); err != nil {
		return err
	}
	names := c.toBuild(st, name)
	if len(names) == 0 {
		c.Say("everything is built")
		return nil
	}
	if err := c.confirm(ctx, fmt.Sprintf("Build the indexes of %s?", strings.Join(names, ", "))); err != nil {
		return err
	}
	return c.buildModels(ctx, names)
}

// modelArg returns the model to build, "" for all.
func (c *call) modelArg() (string, error) {
	name, index, _ := strings.Cut(c.arg(0), ".")
	if index != "" {
		return "", fmt.Errorf("%w: an index is built with the others of its model: %s", errCall, c.command("build", name))
	}
	return name, nil
}

// toBuild lists the pending builds, and returns the models.
func (c *call) toBuild(st Status, only string) (names []string) {
	for _, m := range st.Models {
		if only != "" && m.Name != only {
			continue
		}
		var missing []string
		for _, i := range m.Indexes {
			if i.State != "unknown" && (i.State != "built" || c.anew) {
				missing = append(missing, i.Name)
			}
		}
		if len(missing) == 0 && m.Err == nil {
			continue
		}
		names = append(names, m.Name)
		c.Say("%s: build %s, with about %s", m.Name, strings.Join(missing, ", "), console.Some(m.IDs, "record", "records"))
		if m.Err != nil {
			c.Say("%s: %v", m.Name, m.Err)
		}
		for _, process := range c.otherwise(st.Writers, m.Name) {
			c.Say("%s: process %s writes it with other indexes; the build waits for its end", m.Name, process)
		}
	}
	return names
}

// otherwise returns the names of the processes that write a model with other indexes.
func (c *call) otherwise(all []kvmodel.Writer, model string) (processes []string) {
	for _, w := range all {
		if hasOther(&w) && slices.Contains(w.Other, model) {
			processes = append(processes, c.called(&w))
		}
	}
	return processes
}

// buildModels builds the indexes of models concurrently, since each build may have to wait for
// other processes.
func (c *call) buildModels(ctx context.Context, names []string) error {
	p := c.progress()
	in, err := c.writer(ctx, quiet())
	if err != nil {
		return err
	}
	all := beside(names, func(name string) error {
		err := in.Build(ctx, name, c.anew, p.step)
		if ctx.Err() != nil {
			return err
		}
		return c.built(ctx, name, err)
	})
	if ctx.Err() != nil {
		return p.stopped(ctx, ctx.Err())
	}
	return worst(all)
}

// worst returns the errors that were not printed yet, or else one that was.
func worst(errs []error) error {
	unsaid := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil || errors.Is(err, errDiffers) })
	if len(unsaid) > 0 {
		return errors.Join(unsaid...)
	}
	return cmp.Or(errs...)
}

// built prints the result of a model's build, and returns the error for the verb.
func (c *call) built(ctx context.Context, name string, err error) error {
	c.Done()
	var duplicates *kvmodel.DuplicatesError
	switch {
	case err == nil:
		c.Tell("%s: built", name)
		return nil
	case errors.As(err, &duplicates):
		for _, d := range duplicates.Records {
			c.Tell("%s %s: %v", name, d.ID, d.Taken)
		}
		c.Tell("%s: %s in conflict, so %s cannot be built; change or delete them, and build again",
			name, console.Some(len(duplicates.Records)+duplicates.More, "record is", "records are"), strings.Join(duplicates.Indexes(), ", "))
		return errDiffers
	}
	if all, failed := c.db.Writers(ctx); failed == nil {
		if others := c.otherwise(all, name); len(others) > 0 {
			return fmt.Errorf("%w: end the processes that write %s with other indexes, %s; then: %s", errStopped, name, strings.Join(others, ", "), c.again())
		}
	}
	return fmt.Errorf("%s: %w", name, err)
}

func resave(ctx context.Context, c *call) error {
	if len(c.args) == 0 {
		return fmt.Errorf("%w: --resave takes a MODEL", errCall)
	}
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	if _, err := in.model(c.args[0]); err != nil {
		return err
	}
	do := func(in *Inspector, p Pace) (int64, error) {
		return in.Resave(ctx, c.args[0], ResaveOptions{Pace: p, Dry: c.dry})
	}
	if c.dry {
		n, err := long(ctx, c, func(p Pace) (int64, error) { return do(in, p) })
		if err != nil {
			return err
		}
		c.Tell("dry run: %s would be rewritten; all of them can be read", console.Some(n, "record", "records"))
		return nil
	}
	n, err := write(ctx, c, "Rewrite all records of "+c.args[0]+" that an earlier version of it wrote?", do)
	if err != nil {
		return err
	}
	c.Tell("%s: %s", c.args[0], console.Some(n, "record was rewritten", "records were rewritten"))
	return nil
}
