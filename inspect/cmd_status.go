package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const watchEvery = 2 * time.Second

func status(ctx context.Context, c *call) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	for {
		err := c.statusOnce(ctx, in)
		if !c.watch {
			return err
		}
		if err != nil && !errors.Is(err, errDiffers) {
			c.Note("%v", err)
		}
		if !kv.Sleep(ctx, watchEvery) {
			return nil
		}
		c.Again()
	}
}

func (c *call) statusOnce(ctx context.Context, in *Inspector) error {
	st, err := in.Status(ctx)
	if err != nil {
		return err
	}
	if c.json() {
		c.Object("status", c.statusObject(&st))
	} else {
		c.statusText(&st)
	}
	if c.deep {
		err = c.findings(ctx, in, &st)
	}
	if err == nil && len(st.Warnings) > 0 {
		err = errDiffers
	}
	return err
}

func (c *call) findings(ctx context.Context, in *Inspector, st *Status) (wrong error) {
	found, err := in.diagnose(ctx, kv.PowersOf(c.store), st)
	if err != nil {
		return err
	}
	for _, f := range append([]kv.Finding{kv.Find(kv.Fine, "%s answers", shownURL(c.url()))}, found...) {
		if f.Is == kv.Hurts {
			wrong = errDiffers
		}
		object := struct {
			State kv.Verdict `json:"state"`
			Text  string     `json:"text"`
		}{f.Is, f.Text}
		c.show("finding", object, "%-10s %s", f.Is, f.Text)
	}
	return wrong
}

func (c *call) statusText(st *Status) {
	c.Say("store      %s", c.storeText(st))
	c.Say("")
	rows(c, "model", st.Models, modelHead, ModelStatus.row)
	if len(st.Others) > 0 {
		c.Say("besides    %s", strings.Join(st.Others, ", "))
	}
	c.Say("")
	for i, line := range c.writersText(st) {
		c.Say("%-10s %s", []string{"processes", ""}[min(i, 1)], line)
	}
	for i, u := range intentsOf(st.Writers) {
		c.Say("%-10s %s", []string{"intents", ""}[min(i, 1)], c.intentText(u))
	}
	if st.Empty {
		c.Say("note       the store is empty: no record was ever written to it, and no index built")
	}
	if st.Empty && kv.PowersOf(c.store).Losses != nil {
		c.Say("           if an app says otherwise, run `%s recover`", c.Name)
	}
	for _, w := range st.Warnings {
		c.Say("warning    %s", w)
	}
	if st.Next != "" {
		c.Say("next       %s %s", c.Name, st.Next)
	} else if len(st.Warnings) == 0 {
		c.Say("all is well")
	}
}

func (c *call) storeText(st *Status) string {
	text := shownURL(c.url())
	if c.tenant != "" {
		text += ", tenant " + c.tenant
	}
	if d := st.Stats.Disk; d != nil && d.Behind > 0 {
		text += ", shipped up to " + console.Span(d.Behind) + " ago"
	}
	return text
}

var modelHead = []string{"model", "records", "bytes", "version", "indexes"}

func (m ModelStatus) row() []string {
	if m.Err != nil {
		return []string{m.Name, "?", "?", fmt.Sprint(m.Version), "unknown: see the warning"}
	}
	return []string{m.Name, about(console.Number(m.IDs), m.IDs), about(console.Size(m.Bytes), m.Bytes), m.versions(), indexesText(m.Indexes)}
}

func about(text string, n int64) string {
	if n == 0 {
		return text
	}
	return "~" + text
}

func indexesText(all []IndexStatus) string {
	var names []string
	for _, i := range all {
		switch i.State {
		case "built":
			names = append(names, i.Name)
		case "unknown":
			names = append(names, i.Name+" (of another release)")
		default:
			names = append(names, strings.TrimSuffix(i.Name+": "+strings.ToUpper(i.State)+", "+i.Far, ", "))
		}
	}
	return strings.Join(names, "  ")
}

const writersShown = 10

func (c *call) writersText(st *Status) (lines []string) {
	for _, w := range st.Writers[:min(writersShown, len(st.Writers))] {
		text := c.called(&w)
		switch changes := console.Some(w.Lines, "change", "changes"); {
		case isRepaired(&w):
			text += ", dead, repaired"
		case w.Dead && w.Lines > 0:
			text += ", dead, left " + changes
		case w.Lines > 0:
			text += ", " + changes + " in its journal"
		}
		if len(w.Handles) > 0 {
			text += ", handlers of " + strings.Join(w.Handles, ", ")
		}
		lines = append(lines, text)
	}
	switch rest := len(st.Writers) - len(lines); {
	case rest > 0:
		return append(lines, fmt.Sprint("and ", rest, " more"))
	case len(lines) > 0:
		return lines
	case st.Lost != nil:
		return []string{"not known"}
	case st.Stats.Disk != nil:
		return []string{"this one alone has the file"}
	}
	return []string{"none writes"}
}

func (c *call) called(w *kvmodel.Writer) string { return w.Called(c.db.Now()) }

func intentsOf(all []kvmodel.Writer) (intents []kvmodel.Underway) {
	for i := range all {
		intents = append(intents, all[i].Intents...)
	}
	slices.SortStableFunc(intents, func(a, b kvmodel.Underway) int { return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Name, b.Name)) })
	return intents
}

func (c *call) intentText(u kvmodel.Underway) string {
	text := fmt.Sprintf("%s, began %s ago", u.Name, console.Span(c.db.Now().Sub(u.Began)))
	for _, name := range slices.Sorted(maps.Keys(u.Args)) {
		value := Masked
		if c.private {
			value = fmt.Sprintf("%q", fmt.Sprint(u.Args[name]))
		}
		text += " " + name + "=" + value
	}
	return strings.TrimSuffix(text+": "+errorText(u.Err), ": ")
}

type (
	statusObject struct {
		Store     string         `json:"store"`
		Tenant    string         `json:"tenant,omitempty"`
		Processes []writerObject `json:"processes"`
		Intents   []intentObject `json:"intents"`
		Lost      int            `json:"lost"`
		Away      []string       `json:"away,omitempty"`
		*Status
	}
	writerObject struct {
		Process  string     `json:"process"` // the name
		Host     string     `json:"host,omitempty"`
		PID      int        `json:"pid,omitempty"`
		Release  string     `json:"release,omitempty"`
		Since    *time.Time `json:"since,omitempty"`
		Dead     bool       `json:"dead,omitempty"`
		Changes  int        `json:"changes"`
		Handles  []string   `json:"handles,omitempty"`
		Other    []string   `json:"other,omitempty"`
		Repaired *time.Time `json:"repaired,omitempty"`
		Damaged  string     `json:"damaged,omitempty"`
	}
	intentObject struct {
		Intent  string         `json:"intent"`
		Began   time.Time      `json:"began"`
		Process string         `json:"process"`
		Args    map[string]any `json:"args,omitempty"`
		Error   string         `json:"error,omitempty"`
	}
)

func objectOfWriter(w *kvmodel.Writer) writerObject {
	o := writerObject{
		Process: w.Process, Host: w.Host, PID: w.PID, Release: w.Release,
		Dead: w.Dead, Changes: w.Lines, Handles: w.Handles, Other: w.Other, Damaged: errorText(w.Damaged),
	}
	if !w.Since.IsZero() {
		o.Since = &w.Since
	}
	if isRepaired(w) {
		o.Dead, o.Repaired = true, &w.Repaired
	}
	return o
}

func (c *call) intentObject(u kvmodel.Underway) intentObject {
	o := intentObject{Intent: u.Name, Began: u.Began, Process: u.Process, Error: errorText(u.Err)}
	if c.private {
		o.Args = u.Args
	}
	return o
}

func (c *call) statusObject(st *Status) statusObject {
	o := statusObject{
		Store: shownURL(c.url()), Tenant: c.tenant, Processes: []writerObject{}, Intents: []intentObject{},
		Lost: st.Stats.Lost, Away: st.Stats.Away, Status: st,
	}
	for _, w := range st.Writers {
		o.Processes = append(o.Processes, objectOfWriter(&w))
	}
	for _, u := range intentsOf(st.Writers) {
		o.Intents = append(o.Intents, c.intentObject(u))
	}
	return o
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
