package inspect

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/internal/plug"
)

func ls(ctx context.Context, c *call) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	what := c.arg(0)
	if c.sizes {
		return c.shares(ctx, in, what)
	}
	alone := slices.ContainsFunc(in.alone, func(w plug.Window) bool { return w.Name() == what })
	switch {
	case alone || strings.Contains(what, "."):
		return c.values(ctx, in, what)
	case what == "":
		return c.models(ctx, in)
	}
	return c.indexes(ctx, in, what)
}

func (c *call) models(ctx context.Context, in *Inspector) error {
	st, err := in.Status(ctx)
	if err = cmp.Or(err, st.Lost); err != nil {
		return err
	}
	rows := [][]string{{"model", "records", "bytes", "version", "indexes"}}
	for _, m := range st.Models {
		if c.json() {
			if err := c.Object("model", m); err != nil {
				return err
			}
		}
		rows = append(rows, m.row())
	}
	for _, name := range st.Others {
		rows = append(rows, []string{name})
	}
	if !c.json() {
		c.Table(rows)
	}
	return nil
}

func (c *call) indexes(ctx context.Context, in *Inspector, name string) error {
	m, err := in.model(name)
	if err != nil {
		return err
	}
	ms, err := in.modelStatus(ctx, m)
	if err = cmp.Or(err, ms.Err); err != nil {
		return err
	}
	rows := [][]string{{"index", "kind", "state"}}
	for _, i := range ms.Indexes {
		i.Name = name + "." + i.Name
		if c.json() {
			if err := c.Object("index", i); err != nil {
				return err
			}
		}
		rows = append(rows, []string{i.Name, i.Kind, strings.TrimSpace(i.State + " " + i.Far)})
	}
	if !c.json() {
		c.Table(rows)
	}
	return nil
}

// topOf is the number of listed values of an index.
const topOf = 20

func (c *call) values(ctx context.Context, in *Inspector, name string) error {
	all, err := long(ctx, c, func(p Pace) ([]Share, error) { return in.List(ctx, name, topOf, p) })
	if err != nil {
		return err
	}
	return c.sizeTable("value", all, func(s Share) string { return s.Part })
}

// shares shows the share of each part of the store, for all models or one.
func (c *call) shares(ctx context.Context, in *Inspector, model string) error {
	if model != "" {
		if _, err := in.model(model); err != nil {
			return err
		}
	}
	all, err := long(ctx, c, func(p Pace) ([]Share, error) { return in.Sizes(ctx, p) })
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(s Share) bool { return model != "" && s.Model != model })
	return c.sizeTable("size", all, func(s Share) string {
		name := partName(s.Model, s.Part)
		if !s.Known {
			name += " (unknown to this program)"
		}
		return name
	})
}

// sizeTable shows shares of a store with their names, and their sum.
func (c *call) sizeTable(kind string, all []Share, name func(Share) string) error {
	var sum Share
	rows := [][]string{{"what", "keys", "bytes", "biggest key", ""}}
	for _, s := range all {
		if c.json() {
			if err := c.Object(kind, s); err != nil {
				return err
			}
		}
		sum.Keys, sum.Bytes = sum.Keys+s.Keys, sum.Bytes+s.Bytes
		rows = append(rows, []string{name(s), console.Number(s.Keys), console.Size(s.Bytes), s.Biggest, console.Size(s.BiggestSize)})
	}
	if !c.json() {
		c.Table(append(rows, []string{"in all", console.Number(sum.Keys), console.Size(sum.Bytes)}))
	}
	return nil
}

func partName(model, part string) string {
	if model == part {
		return model
	}
	return strings.Trim(model+"."+part, ".")
}
