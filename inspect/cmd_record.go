package inspect

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/kvmodel"
)

// get shows a record, or the value of a key.
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
		err = c.Object("record", r.object())
	} else {
		c.recordText(&r)
	}
	if err == nil && (r.State != "live" || len(r.faults()) > 0) {
		err = errDiffers
	}
	return err
}

// item shows the value of a key. Its bytes may contain private fields.
func (c *call) item(ctx context.Context, in *Inspector) error {
	it, err := in.Key(ctx, c.key)
	if err != nil {
		return err
	}
	if c.json() {
		err = c.Object("key", it.object(c.private))
	} else {
		c.itemText(&it)
	}
	if err == nil && (!it.Exists || it.Damaged != nil) {
		err = errDiffers
	}
	return err
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

// faults returns the faults of r in its places.
func (r *Record) faults() (all []string) {
	for _, p := range r.Places {
		all = append(all, p.Wrong...)
	}
	return all
}

func (c *call) recordText(r *Record) {
	if r.State == "absent" {
		c.Say("%s %s: there is none", r.Model, r.ID)
		return
	}
	expires := "never"
	if !r.Expires.IsZero() {
		expires = r.Expires.UTC().Format(time.DateTime)
	}
	c.Say("%s %s   %s   rev %d   version %d   %s   expires %s", r.Model, r.ID, r.State, r.Rev, r.Version, console.Size(r.Bytes), expires)
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

// rows returns p as rows of a table.
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

// The objects written by get.
type (
	recordObject struct {
		Model    string         `json:"model"`
		ID       string         `json:"id"`
		Key      string         `json:"key"`
		State    string         `json:"state"`
		Rev      uint64         `json:"rev"`
		Version  int            `json:"version"`
		Bytes    int            `json:"bytes"`
		Expires  *time.Time     `json:"expires,omitempty"`
		Error    string         `json:"error,omitempty"`
		Fields   map[string]any `json:"fields,omitempty"`
		Counters map[string]any `json:"counters,omitempty"`
		History  int            `json:"history,omitempty"`
		Places   []placeObject  `json:"places,omitempty"`
	}
	placeObject struct {
		Index string   `json:"index"`
		Kind  string   `json:"kind"`
		Value string   `json:"value"`
		Bases []string `json:"bases,omitempty"`
		Wrong []string `json:"wrong,omitempty"`
	}
	itemObject struct {
		Key     string   `json:"key"`
		Exists  bool     `json:"exists"`
		Owner   string   `json:"owner"`
		Known   bool     `json:"known"`
		Bytes   int      `json:"bytes"`
		Lines   []string `json:"lines,omitempty"`
		Damaged string   `json:"damaged,omitempty"`
		Hex     string   `json:"hex,omitempty"`
	}
)

func (it *Item) object(open bool) itemObject {
	o := itemObject{Key: it.Key, Exists: it.Exists, Owner: it.Owner, Known: it.Known, Bytes: it.Bytes, Lines: it.Lines, Damaged: errorText(it.Damaged)}
	if open {
		o.Hex = hex.EncodeToString(it.Value)
	}
	return o
}

func (r *Record) object() recordObject {
	o := recordObject{
		Model: r.Model, ID: r.ID, Key: r.Key, State: r.State, Rev: r.Rev, Version: r.Version, Bytes: r.Bytes,
		Error: errorText(r.Err), Fields: objectOfFields(r.Fields), Counters: objectOfFields(r.Counters), History: r.History,
	}
	if !r.Expires.IsZero() {
		o.Expires = &r.Expires
	}
	for _, p := range r.Places {
		o.Places = append(o.Places, placeObject(p))
	}
	return o
}

func objectOfFields(fields []Field) map[string]any {
	if len(fields) == 0 {
		return nil
	}
	all := make(map[string]any)
	for _, f := range fields {
		all[f.Name] = plainOf(f.Value)
	}
	return all
}

// plainOf returns v, or a substitute if JSON has no such value.
func plainOf(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = plainOf(v[name])
		}
	case []any:
		for i := range v {
			v[i] = plainOf(v[i])
		}
	case nil, bool, int64, uint64, string, time.Time:
	case float64:
		if v-v != 0 { // It is NaN or infinite.
			return fmt.Sprint(v)
		}
	case []byte:
		return textOf(v)
	default:
		return fmt.Sprint(v)
	}
	return v
}

// list shows the first entries of an index.
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
		return c.Object("page", objectOfPage(p, value))
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
	c.Say("%s of %s (%s), for %s", console.Some(len(p.Rows), "row", "rows"), c.args[0], p.Kind, costText(p.Cost))
	return nil
}

func costText(cost kvmodel.Cost) string {
	return fmt.Sprintf("%s, %s, %s", console.Some(cost.Trips, "trip", "trips"), console.Some(cost.Keys, "key", "keys"), console.Size(cost.Read))
}

// The objects written by list.
type (
	pageObject struct {
		Index string      `json:"index"`
		Kind  string      `json:"kind"`
		Value string      `json:"value,omitempty"`
		Rows  []rowObject `json:"rows"`
		Trips int         `json:"trips"`
		Keys  int         `json:"keys"`
		Bytes int         `json:"bytes"`
	}
	rowObject struct {
		ID     string         `json:"id,omitempty"`
		Note   string         `json:"note,omitempty"`
		Fields map[string]any `json:"fields,omitempty"`
	}
)

func objectOfPage(p Page, value string) pageObject {
	o := pageObject{Index: p.Index, Kind: p.Kind, Value: value, Rows: []rowObject{}, Trips: p.Cost.Trips, Keys: p.Cost.Keys, Bytes: p.Cost.Read}
	for _, row := range p.Rows {
		o.Rows = append(o.Rows, rowObject{row.ID, row.Note, objectOfFields(row.Fields)})
	}
	return o
}
