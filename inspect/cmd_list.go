package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/internal/plug"
)

// ls lists the models, the indexes of one, or the values of an index.
func ls(ctx context.Context, c *call) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	what := c.arg(0)
	alone := slices.ContainsFunc(in.alone, func(w plug.Window) bool { return w.Name() == what })
	switch {
	case alone || strings.Contains(what, "."):
		return c.values(ctx, in, what)
	case c.sample > 0:
		return fmt.Errorf("%w: --sample is for the values of an index", errCall)
	case what == "":
		return c.models(ctx, in)
	}
	return c.indexes(ctx, in, what)
}

// models lists the models.
func (c *call) models(ctx context.Context, in *Inspector) error {
	st, err := in.Status(ctx)
	if err = cmp.Or(err, st.Lost); err != nil {
		return err
	}
	rows := [][]string{{"model", "records", "bytes", "version", "indexes"}}
	for _, m := range st.Models {
		if c.json {
			if err := c.Object("model", m.object()); err != nil {
				return err
			}
		}
		rows = append(rows, m.row())
	}
	for _, name := range st.Others {
		rows = append(rows, []string{name})
	}
	if !c.json {
		c.Table(rows)
	}
	return nil
}

// indexes lists the indexes of a model.
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
		if c.json {
			if err := c.Object("index", indexObject{name + "." + i.Name, i.Kind, i.State, i.Far}); err != nil {
				return err
			}
		}
		rows = append(rows, []string{name + "." + i.Name, i.Kind, strings.TrimSpace(i.State + " " + i.Far)})
	}
	if !c.json {
		c.Table(rows)
	}
	return nil
}

// topOf is how many values of an index are listed.
const topOf = 20

// values lists the values of an index that take most.
func (c *call) values(ctx context.Context, in *Inspector, name string) error {
	p := c.progress()
	all, err := in.List(ctx, name, ListOptions{Pace: Pace{Rate: c.rate, Progress: p.step}, Top: cmp.Or(c.top, topOf), Sample: c.sample})
	if err != nil {
		return p.stopped(ctx, err)
	}
	rows := [][]string{{"keys", "bytes", "begin with", ""}}
	for _, s := range all {
		if c.json {
			if err := c.Object("value", objectOfShare(name, s.Part, s)); err != nil {
				return err
			}
		}
		keys, bytes := console.Number(s.Keys), console.Size(s.Bytes)
		if c.sample > 0 {
			keys, bytes = about(keys, s.Keys), about(bytes, s.Bytes)
		}
		rows = append(rows, []string{keys, bytes, s.Part})
	}
	if !c.json {
		c.Table(rows)
	}
	return nil
}

// shareObject is what takes a share of a store.
type shareObject struct {
	Model       string `json:"model"`
	Part        string `json:"part"`
	Keys        int64  `json:"keys"`
	Bytes       int64  `json:"bytes"`
	Biggest     string `json:"biggest"`
	BiggestSize int    `json:"biggestSize"`
	Known       bool   `json:"known"`
}

func objectOfShare(model, part string, s Share) shareObject {
	return shareObject{model, part, s.Keys, s.Bytes, s.Biggest, s.BiggestSize, s.Known}
}

// sizes shows what takes how much of the store.
func sizes(ctx context.Context, c *call) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	p := c.progress()
	all, err := in.Sizes(ctx, Pace{Rate: c.rate, Progress: p.step})
	if err != nil {
		return p.stopped(ctx, err)
	}
	var total Share
	rows := [][]string{{"what", "keys", "bytes", "biggest key", ""}}
	for i, s := range all {
		total.Keys, total.Bytes = total.Keys+s.Keys, total.Bytes+s.Bytes
		if c.top > 0 && i >= c.top {
			continue
		}
		if c.json {
			if err := c.Object("size", objectOfShare(s.Model, s.Part, s)); err != nil {
				return err
			}
		}
		name := partName(s.Model, s.Part)
		if !s.Known {
			name += " (unknown to this program)"
		}
		rows = append(rows, []string{name, console.Number(s.Keys), console.Size(s.Bytes), s.Biggest, console.Size(s.BiggestSize)})
	}
	if !c.json {
		c.Table(append(rows, []string{"in all", console.Number(total.Keys), console.Size(total.Bytes)}))
	}
	return nil
}

// partName returns what a part of a model is called.
func partName(model, part string) string {
	if model == part {
		return model
	}
	return strings.Trim(model+"."+part, ".")
}
