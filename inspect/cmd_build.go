package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func build(ctx context.Context, c *call) error {
	if c.resave {
		return resave(ctx, c)
	}
	name, index, _ := strings.Cut(c.arg(0), ".")
	if index != "" {
		return fmt.Errorf("%w: an index is built with the others of its model: %s", errCall, c.command("build", name))
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

func (c *call) otherwise(all []kvmodel.Writer, model string) (processes []string) {
	for _, w := range all {
		if hasOther(&w) && slices.Contains(w.Other, model) {
			processes = append(processes, c.called(&w))
		}
	}
	return processes
}

func (c *call) buildModels(ctx context.Context, names []string) error {
	p := c.progress()
	in, err := c.open(ctx, quiet())
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

func (c *call) built(ctx context.Context, name string, err error) error {
	c.Done()
	var duplicates *kvmodel.DuplicatesError
	switch {
	case err == nil:
		c.Tell("%s: built", name)
		return nil
	case errors.As(err, &duplicates):
		for _, taken := range duplicates.Records {
			c.Tell("%s %s: %v", name, taken.By, taken)
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

// The store itself tells which steps of a recovery are done.
func recoverAll(ctx context.Context, c *call) error {
	for _, step := range []func(context.Context, *call) error{acknowledge, rescue, repair} {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func acknowledge(ctx context.Context, c *call) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	lost, err := c.lost(ctx, in)
	if err != nil {
		return err
	}
	if len(lost) == 0 {
		return c.acknowledgeEmpty(ctx, in)
	}
	for _, text := range lost {
		c.Tell("lost: %s", text)
	}
	c.Tell("step 1: acknowledge the loss. Its records will be absent, and the indexes of every model incomplete until step 2.")
	if gone := in.Unbuildable(); len(gone) > 0 {
		c.Tell("Lost for good, if it was on those servers: %s.", strings.Join(gone, ", "))
	}
	if err := c.confirm(ctx, "Acknowledge the loss?"); err != nil {
		return err
	}
	if _, err = c.open(ctx, quiet()); err != nil {
		return err
	}
	servers, err := c.db.Accept(ctx)
	if err != nil {
		return err
	}
	c.Tell("acknowledged%s", strings.TrimSuffix(": "+strings.Join(servers, ", "), ": "))
	return nil
}

// If no server is left to report a loss, a running app may know of it.
func (c *call) acknowledgeEmpty(ctx context.Context, in *Inspector) error {
	empty, err := c.isEmpty(ctx)
	if err != nil {
		return err
	}
	if !empty {
		c.Tell("step 1: no loss to acknowledge")
		if kv.PowersOf(c.store).Losses != nil {
			c.Tell("If a running app still returns ErrLost, it remembers another store here: restart it.")
		}
		return nil
	}
	if edition := in.edition(); edition != "" {
		return nil // It was acknowledged.
	}
	c.Tell("step 1: accept that the store is empty. Running apps that knew its data answer ErrLost until then. That data is gone.")
	if err := c.confirm(ctx, "Accept that the store is empty?"); err != nil {
		return err
	}
	if _, err = c.open(ctx, quiet()); err != nil {
		return err
	}
	if err := kv.PowersOf(c.store).Losses.Renew(ctx); err != nil {
		return err
	}
	if _, err := c.db.Accept(ctx); err != nil {
		return err
	}
	c.Tell("accepted: running apps take the empty store within 15 seconds. If there is an export, import it once this has ended.")
	return nil
}

// isEmpty reports whether servers hold nothing of any app, as far as they can list their keys.
func (c *call) isEmpty(ctx context.Context) (bool, error) {
	p := kv.PowersOf(c.store)
	if p.Losses == nil || p.Keys == nil || p.Prefix != "" {
		return false, nil
	}
	err := p.Keys(ctx, "", func(keys []string) error {
		for _, key := range keys {
			if !isWitness(key) && !slices.Contains(untold, key) {
				return errDiffers
			}
		}
		return nil
	})
	if errors.Is(err, errDiffers) {
		return false, nil
	}
	return err == nil, err
}

var untold = []string{markerKey, rescuedKey}

func (c *call) lost(ctx context.Context, in *Inspector) (texts []string, err error) {
	if losses := kv.PowersOf(c.store).Losses; losses != nil {
		if err := losses.Look(ctx); err != nil && !errors.Is(err, kv.ErrLost) {
			return nil, err
		}
		for _, err := range losses.Lost() {
			texts = append(texts, err.Error())
		}
		if len(texts) > 0 {
			return texts, nil
		}
	}
	for _, m := range in.models {
		state := new(checking)
		if err := state.ids(ctx, m); err != nil {
			return nil, err
		}
		for _, f := range state.doubts {
			if f.Kind == plug.LostIDs {
				texts = append(texts, cmp.Or(f.Text, m.Name()))
			}
		}
	}
	return texts, nil
}

func rescue(ctx context.Context, c *call) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	names, err := c.torn(ctx, in)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		c.Tell("step 2: all records are listed, and all indexes are built")
		return nil
	}
	c.Tell("step 2: list the surviving records again, and build the indexes of %s. This loses nothing more.", strings.Join(names, ", "))
	if err := c.confirm(ctx, "Do that?"); err != nil {
		return err
	}
	if in, err = c.open(ctx, quiet()); err != nil {
		return err
	}
	if in.keys == nil {
		c.Tell("%v, so records that are missing from the list of ids stay lost", ErrNoKeys)
		return c.buildModels(ctx, names)
	}
	_, err = long(ctx, c, func(p Pace) (any, error) { return nil, in.Rescue(ctx, p) })
	return err
}

func (c *call) torn(ctx context.Context, in *Inspector) (names []string, err error) {
	awaits, err := in.awaitsRescue(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range in.models {
		st, err := m.State(ctx)
		if kv.Failed(err) {
			return nil, err
		}
		if awaits || err != nil || st.Built != nil || slices.ContainsFunc(st.Indexes, func(i plug.IndexState) bool { return i.State != "built" && i.State != "unknown" }) {
			names = append(names, m.Name())
		}
	}
	return names, nil
}
