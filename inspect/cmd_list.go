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
	var others [][]string
	for _, name := range st.Others {
		others = append(others, []string{name})
	}
	return rows(c, "model", st.Models, modelHead, ModelStatus.row, others...)
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
	for k := range ms.Indexes {
		ms.Indexes[k].Name = name + "." + ms.Indexes[k].Name
	}
	return rows(c, "index", ms.Indexes, []string{"index", "kind", "state"}, func(i IndexStatus) []string {
		return []string{i.Name, i.Kind, strings.TrimSpace(i.State + " " + i.Far)}
	})
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
	for _, s := range all {
		sum.Keys, sum.Bytes = sum.Keys+s.Keys, sum.Bytes+s.Bytes
	}
	return rows(c, kind, all, []string{"what", "keys", "bytes", "biggest key", ""}, func(s Share) []string {
		return []string{name(s), console.Number(s.Keys), console.Size(s.Bytes), s.Biggest, console.Size(s.BiggestSize)}
	}, []string{"in all", console.Number(sum.Keys), console.Size(sum.Bytes)})
}

func partName(model, part string) string {
	if model == part {
		return model
	}
	return strings.Trim(model+"."+part, ".")
}
