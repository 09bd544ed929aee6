package inspect

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
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
	rows(c, "model", st.Models, modelHead, ModelStatus.row, others...)
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
	for k := range ms.Indexes {
		ms.Indexes[k].Name = name + "." + ms.Indexes[k].Name
	}
	rows(c, "index", ms.Indexes, []string{"index", "kind", "state"}, func(i IndexStatus) []string {
		return []string{i.Name, i.Kind, strings.TrimSpace(i.State + " " + i.Far)}
	})
	return nil
}

const topOf = 20

func (c *call) values(ctx context.Context, in *Inspector, name string) error {
	all, err := long(ctx, c, func(p Pace) ([]Share, error) { return in.List(ctx, name, topOf, p) })
	if err != nil {
		return err
	}
	c.sizeTable("value", all, func(s Share) string { return s.Part })
	return nil
}

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
	c.sizeTable("size", all, func(s Share) string {
		name := partName(s.Model, s.Part)
		if !s.Known {
			name += " (unknown to this program)"
		}
		return name
	})
	return nil
}

func (c *call) sizeTable(kind string, all []Share, name func(Share) string) {
	var sum Share
	for _, s := range all {
		sum.Keys, sum.Bytes = sum.Keys+s.Keys, sum.Bytes+s.Bytes
	}
	rows(c, kind, all, []string{"what", "keys", "bytes", "biggest key", ""}, func(s Share) []string {
		return []string{name(s), console.Number(s.Keys), console.Size(s.Bytes), s.Biggest, console.Size(s.BiggestSize)}
	}, []string{"in all", console.Number(sum.Keys), console.Size(sum.Bytes)})
}

func partName(model, part string) string {
	if model == part {
		return model
	}
	return strings.Trim(model+"."+part, ".")
}

func get(ctx context.Context, c *call) error {
	if (c.key != "") == (len(c.args) > 0) || len(c.args) == 1 {
		return fmt.Errorf("%w: get takes MODEL ID, or --key KEY", errCall)
	}
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	if c.key != "" {
		return c.item(ctx, in)
	}
	r, err := in.Get(ctx, c.args[0], c.args[1], c.private)
	if err != nil {
		return err
	}
	if c.json() {
		c.Object("record", r)
	} else {
		c.recordText(&r)
	}
	if r.State != "live" || len(r.faults()) > 0 {
		return errDiffers
	}
	return nil
}

func (c *call) item(ctx context.Context, in *Inspector) error {
	it, err := in.Key(ctx, c.key)
	if err != nil {
		return err
	}
	if c.json() {
		object := struct {
			Item
			Hex string `json:"hex,omitempty"`
		}{Item: it}
		if c.private {
			object.Hex = hex.EncodeToString(it.Value)
		}
		c.Object("key", object)
	} else {
		c.itemText(&it)
	}
	if !it.Exists || it.Damaged != nil {
		return errDiffers
	}
	return nil
}

func (c *call) itemText(it *Item) {
	owner := it.Owner
	if !it.Known {
		owner = strings.TrimSpace(owner + " (unknown to this program)")
	}
	if !it.Exists {
		c.Say("%s   absent   %s", it.Key, owner)
		return
	}
	c.Say("%s   %s   %s", it.Key, console.Size(it.Bytes), owner)
	for _, line := range it.Lines {
		c.Say("  %s", line)
	}
	if it.Damaged != nil {
		c.Say("  DAMAGED: %v", it.Damaged)
	}
	if c.private {
		c.Say("%s", strings.TrimSuffix(hex.Dump(it.Value), "\n"))
	}
}

func (r *Record) summary() string {
	if r.State == "absent" {
		return r.Model + " " + r.ID + ": there is none"
	}
	return fmt.Sprintf("%s %s   %s   rev %d   version %d   %s   expires %s", r.Model, r.ID, r.State, r.Rev, r.Version, console.Size(r.Bytes), timeText(r.Expires))
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.DateTime) + " UTC"
}

func (r *Record) faults() (all []string) {
	for _, p := range r.Places {
		all = append(all, p.Wrong...)
	}
	return all
}

func (c *call) recordText(r *Record) {
	c.Say("%s", r.summary())
	if r.State == "absent" {
		return
	}
	if r.Err != nil {
		c.Say("  %v", r.Err)
	}
	var rows [][]string
	for _, f := range r.Fields {
		rows = append(rows, []string{"  " + f.Name, f.Text()})
	}
	for _, f := range r.Counters {
		rows = append(rows, []string{"  " + f.Name, f.Text() + " (a counter)"})
	}
	if r.History > 0 {
		rows = append(rows, []string{"  history", console.Size(r.History)})
	}
	rows = append(rows, []string{"  key", r.Key})
	for _, p := range r.Places {
		rows = append(rows, p.rows()...)
	}
	c.Table(rows)
	if len(r.faults()) > 0 {
		c.Say("  next: %s", c.command("check", "--repair", r.Model))
	}
}

func (p *Place) rows() (rows [][]string) {
	base := p.Value
	if len(p.Bases) > 0 {
		base = p.Bases[0]
	}
	if len(p.Wrong) == 0 {
		return [][]string{{"  " + p.Index, base + "   ok"}}
	}
	for _, text := range p.Wrong {
		rows = append(rows, []string{"  " + p.Index, base + "   WRONG: " + text})
	}
	return rows
}

func list(ctx context.Context, c *call) error {
	n := topOf
	if text := c.arg(1); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("%w: %q is not a number of rows", errCall, text)
		}
	}
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	index, value, _ := strings.Cut(c.args[0], "/")
	p, err := in.Page(ctx, index, value, n)
	if errors.Is(err, kvmodel.ErrNeedsRebuild) {
		c.Note("next: %s", c.command("build", strings.Split(index, ".")[0]))
	}
	if err != nil {
		return err
	}
	if c.json() {
		c.Object("page", struct {
			Page
			Value string `json:"value,omitempty"`
			Trips int    `json:"trips"`
			Keys  int    `json:"keys"`
			Bytes int    `json:"bytes"`
		}{p, value, p.Cost.Trips, p.Cost.Keys, p.Cost.Read})
		return nil
	}
	var rows [][]string
	for i, row := range p.Rows {
		cells := []string{fmt.Sprintf("%3d", i+1), row.ID, row.Note}
		for _, f := range row.Fields {
			cells = append(cells, f.Name+" "+f.Text())
		}
		rows = append(rows, cells)
	}
	c.Table(rows)
	c.Say("%s of %s (%s), for %s", console.Some(len(p.Rows), "row", "rows"), c.args[0], p.Kind, strings.Join(costTexts(p.Cost), ", "))
	return nil
}
