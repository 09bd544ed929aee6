package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/inspect/internal/face"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/templates"
)

func (h *faceHandler) statusPage(ctx context.Context, _ url.Values) (face.Page, error) {
	p := face.Page{Title: faceHome, Command: h.command("status")}
	st, err := h.in.Status(ctx)
	if err != nil {
		return p, err
	}
	p.Lead = "All is well."
	if n := len(st.Warnings); n > 0 {
		p.Lead = console.Some(n, "warning.", "warnings.")
		p.Parts = append(p.Parts, h.warnings(st))
	}
	p.Parts = append(p.Parts, h.models(st.Models), h.writersTable(st.Writers))
	if len(h.in.alone) > 0 {
		p.Parts = append(p.Parts, h.alone())
	}
	return p, nil
}

func (h *faceHandler) warnings(st Status) face.Part {
	n := face.Notes{Title: "Warnings"}
	for _, text := range st.Warnings {
		n.Texts = append(n.Texts, face.Text{Text: text, Wrong: true})
	}
	if st.Next != "" {
		n.Texts = append(n.Texts, face.Text{Text: "Next: " + h.command(strings.Fields(st.Next)...)})
	}
	return n
}

func (h *faceHandler) models(all []ModelStatus) face.Part {
	t := face.Table{
		Title: "Models", Caption: "Numbers with a ~ are estimates: they count deleted records, and sizes come from a sample.",
		Columns: face.Columns("Model", "#Records", "#Bytes", "Version", "Indexes"), Empty: "This program has no models.",
	}
	for _, m := range all {
		t.Rows = append(t.Rows, []face.Cell{
			{{Text: m.Name, Href: h.modelAt(m.Name)}}, faceText("~" + console.Number(m.IDs)), faceText("~" + console.Size(m.Bytes)),
			faceText(m.versions()), h.indexesOf(m),
		})
	}
	return t
}

func (m ModelStatus) versions() string {
	if m.Older == 0 {
		return fmt.Sprint(m.Version)
	}
	return fmt.Sprintf("%d (%d %% older)", m.Version, m.Older)
}

func (h *faceHandler) indexesOf(m ModelStatus) (cell face.Cell) {
	for _, i := range m.Indexes {
		text := i.Name
		if i.State != "built" {
			text += " " + i.state()
		}
		cell = append(cell, h.indexText(m.Name, i, text))
	}
	return cell
}

func (h *faceHandler) indexText(model string, i IndexStatus, text string) face.Text {
	shown := face.Text{Text: text, Wrong: i.State != "built"}
	if i.Kind != "" {
		shown.Href = h.indexAt(model+"."+i.Name, "")
	}
	return shown
}

func (i *IndexStatus) state() string {
	if i.State == "unknown" {
		return "unknown to this program"
	}
	return strings.TrimSpace(i.State + " " + i.Far)
}

func (h *faceHandler) alone() face.Part {
	t := face.Table{Title: "Without a model", Caption: "Data of no model", Columns: face.Columns("Name", "Kind")}
	for _, w := range h.in.alone {
		t.Rows = append(t.Rows, []face.Cell{{{Text: w.Name(), Href: h.indexAt(w.Name(), "")}}, faceText(w.Kind())})
	}
	return t
}

func (h *faceHandler) writersTable(all []kvmodel.Writer) face.Part {
	t := face.Table{
		Title: "Processes", Caption: "Processes that write, or died with unfinished changes",
		Columns: face.Columns("Process", "#Changes", "Handlers of", "Other indexes of"),
		Empty:   "No process has a journal: none has written yet, or this one has the store to itself.",
	}
	for _, w := range all {
		name := w.Called(h.in.db.Now())
		if w.Own {
			name += " (this one)"
		}
		row := []face.Cell{faceText(name), faceText(console.Number(int64(w.Lines))), faceText(strings.Join(w.Handles, ", ")), {{Text: strings.Join(w.Other, ", "), Wrong: true}}}
		if w.Damaged != nil {
			row[0] = append(row[0], face.Text{Text: w.Damaged.Error(), Wrong: true})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (h *faceHandler) modelPage(ctx context.Context, query url.Values) (face.Page, error) {
	m, err := h.in.model(query.Get("model"))
	if err != nil {
		return face.Page{}, err
	}
	p := face.Page{Title: m.Name(), Command: h.command("ls", m.Name())}
	ms, err := h.in.modelStatus(ctx, m)
	if err != nil {
		return p, err
	}
	if ms.Err != nil {
		p.Parts = append(p.Parts, faceProblem("Problems", ms.Err))
	}
	p.Parts = append(p.Parts, modelFacts(m, ms), h.recordForm(m.Name(), ""), h.indexTable(ms))
	return p, nil
}

func modelFacts(m model, ms ModelStatus) face.Facts {
	facts := face.Facts{
		{Name: "Records", Value: face.Text{Text: "~" + console.Number(ms.IDs)}},
		{Name: "Bytes", Value: face.Text{Text: "~" + console.Size(ms.Bytes)}},
		{Name: "Version", Value: face.Text{Text: ms.versions()}},
	}
	for _, more := range []struct {
		name string
		of   []string
	}{{"Counters", m.Counters()}, {"Private fields", m.Private()}, {"Deleted with a record", m.Children()}} {
		if len(more.of) > 0 {
			facts = append(facts, face.Fact{Name: more.name, Value: face.Text{Text: strings.Join(more.of, ", ")}})
		}
	}
	return facts
}

func (h *faceHandler) indexTable(ms ModelStatus) face.Part {
	t := face.Table{Title: "Indexes", Caption: "Indexes of " + ms.Name, Columns: face.Columns("Index", "Kind", "State"), Empty: "It has no index."}
	for _, i := range ms.Indexes {
		name := h.indexText(ms.Name, i, i.Name)
		name.Wrong = false
		t.Rows = append(t.Rows, []face.Cell{{name}, faceText(i.Kind), {{Text: i.state(), Wrong: i.State != "built"}}})
	}
	return t
}

func (h *faceHandler) recordForm(model, id string) face.Form {
	return face.Form{
		Title: "A record", Action: h.at("record", nil), Button: "Show",
		Hidden: []face.Input{{Name: "model", Value: model}},
		Fields: []face.Input{{Name: "id", Label: model + " ID", Hint: "Separate parts with a colon.", Value: id, Required: true}},
	}
}

func (h *faceHandler) recordAsEntered(ctx context.Context, name, id string, entered url.Values) (face.Page, error) {
	m, err := h.in.model(name)
	if err != nil {
		return face.Page{}, err
	}
	p := face.Page{
		Title: m.Name() + " " + id, Trail: []face.Link{{Text: m.Name(), Href: h.modelAt(m.Name())}},
		Command: h.command("get", m.Name(), id), Parts: []face.Part{h.recordForm(m.Name(), id)},
	}
	if id == "" {
		p.Title, p.Trail, p.Command = m.Name(), nil, ""
		return p, faceError{"The ID is missing.", kvmodel.ErrInvalid}
	}
	r, err := h.in.Get(ctx, m.Name(), id, false)
	if err != nil {
		return p, err
	}
	if r.State == "absent" {
		return p, faceError{"There is no " + m.Name() + " with the ID " + id + ".", kvmodel.ErrNotFound}
	}
	parts := []face.Part{h.recordFacts(&r)}
	if r.Err != nil {
		parts = append(parts, faceProblem("Problems", r.Err))
	}
	if r.State == "live" {
		parts = append(parts, fieldTable(&r), h.placeTable(&r))
		if form, ok := h.editForm(m, &r, entered); ok {
			parts = append(parts, form)
		}
	}
	p.Parts = append(parts, p.Parts...)
	return p, nil
}

// An id may be typed unescaped.
func textOfID(id string) string {
	if id == "" || strings.ContainsAny(id, "%:") {
		return id
	}
	return kv.JoinText(id)
}

func (h *faceHandler) recordFacts(r *Record) face.Facts {
	facts := face.Facts{
		{Name: "State", Value: face.Text{Text: r.State, Wrong: r.State != "live"}},
		{Name: "Rev", Value: face.Text{Text: fmt.Sprint(r.Rev)}},
		{Name: "Version", Value: face.Text{Text: fmt.Sprint(r.Version)}},
		{Name: "Bytes", Value: face.Text{Text: console.Number(int64(r.Bytes))}},
		{Name: "Expires", Value: face.Text{Text: timeText(r.Expires)}},
		{Name: "Key", Value: face.Text{Text: r.Key, Code: true}},
	}
	if r.History > 0 {
		facts = append(facts, face.Fact{Name: "History", Value: face.Text{Text: console.Size(int64(r.History))}})
	}
	return facts
}

func fieldTable(r *Record) face.Part {
	t := face.Table{
		Title: "Fields", Caption: "Fields by their stored names, then counters. Private ones are shown as " + Masked + ".",
		Columns: face.Columns("Field", "Value"), Empty: "It has no field.",
	}
	for _, f := range r.Fields {
		t.Rows = append(t.Rows, []face.Cell{faceText(f.Name), faceText(f.Text())})
	}
	for _, f := range r.Counters {
		t.Rows = append(t.Rows, []face.Cell{faceText(f.Name + " (a counter)"), faceText(f.Text())})
	}
	return t
}

func (h *faceHandler) placeTable(r *Record) face.Part {
	t := face.Table{
		Title: "Places", Caption: "The position of the record in each index, checked",
		Columns: face.Columns("Index", "Place", "Keys", "Check"), Empty: "It is in no index.",
	}
	for i := range r.Places {
		p := &r.Places[i]
		full := r.Model + "." + p.Index
		place := face.Text{Text: p.Value, Code: true}
		if p.Value != Masked {
			place.Href = h.indexAt(full, p.value())
		}
		t.Rows = append(t.Rows, []face.Cell{{{Text: p.Index, Href: h.indexAt(full, "")}}, {place}, keysOf(p), p.right()})
	}
	return t
}

func (p *Place) value() string {
	if i := strings.IndexAny(p.Value, "#@"); i >= 0 {
		return p.Value[:i]
	}
	return p.Value
}

func keysOf(p *Place) (cell face.Cell) {
	for _, base := range p.Bases {
		cell = append(cell, face.Text{Text: base, Code: true})
	}
	return cell
}

func (p *Place) right() (cell face.Cell) {
	if len(p.Wrong) == 0 {
		return faceText("ok")
	}
	for _, text := range p.Wrong {
		cell = append(cell, face.Text{Text: text, Wrong: true})
	}
	return cell
}

const faceRows = 20

func (h *faceHandler) indexPage(ctx context.Context, query url.Values) (face.Page, error) {
	name, value := query.Get("index"), query.Get("value")
	m, w, err := h.in.window(name)
	if err != nil {
		return face.Page{}, err
	}
	p := face.Page{Title: name, Lead: "The entries of this " + w.Kind() + ", as a visitor sees them.", Command: h.pageCommand(name, value, query.Get("n"))}
	if m != nil {
		p.Trail = []face.Link{{Text: m.Name(), Href: h.modelAt(m.Name())}}
	}
	if isHidden(m, w) {
		p.Parts = []face.Part{face.Notes{Title: "Not shown", Texts: []face.Text{{Text: faceHidden}}}}
		return p, nil
	}
	p.Parts = []face.Part{h.valueForm(name, value, query.Get("n"))}
	n := faceRows
	if text := query.Get("n"); text != "" {
		if n, err = strconv.Atoi(text); err != nil {
			return p, faceError{strconv.Quote(text) + " is not a number of entries.", kvmodel.ErrInvalid}
		}
	}
	got, err := h.in.Page(ctx, name, value, n)
	p.Cost = costTexts(got.Cost)
	if errors.Is(err, errNoValue) {
		note := face.Notes{Title: "Which value?", Texts: []face.Text{{Text: "This index has entries for each value. Enter one below."}}}
		p.Parts = append([]face.Part{note}, p.Parts...)
		return p, nil
	}
	if err != nil {
		return p, err
	}
	parts := []face.Part{h.rowTable(m, got, value)}
	if picture := h.pictures(ctx, w, name, value); picture != nil {
		parts = append(parts, picture)
	}
	p.Parts = append(parts, p.Parts...)
	return p, nil
}

func (h *faceHandler) pageCommand(name, value, n string) string {
	if value != "" {
		name += "/" + value
	}
	if n == "" {
		return h.command("list", name)
	}
	return h.command("list", name, n)
}

func (h *faceHandler) rowTable(m *model, p Page, value string) face.Part {
	t := face.Table{Title: "Entries", Caption: "The first entries", Columns: face.Columns("#", "ID"), Empty: "There is no entry."}
	if slices.ContainsFunc(p.Rows, func(r Row) bool { return r.Note != "" || len(r.Fields) > 0 }) {
		t.Columns = append(t.Columns, face.Column{Title: "Stamp, score or fields"})
	}
	if value != "" {
		t.Caption += " at " + value
	}
	for i, row := range p.Rows {
		id := face.Text{Text: row.ID}
		if m != nil {
			id.Href = h.recordAt(m.Name(), row.ID)
		}
		cells := []face.Cell{faceText(strconv.Itoa(i + 1)), {id}}
		if len(t.Columns) > len(cells) {
			more := faceText(row.Note)
			for _, f := range row.Fields {
				more = append(more, face.Text{Text: f.Name + ": " + f.Text()})
			}
			cells = append(cells, more)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func (h *faceHandler) valueForm(name, value, n string) face.Form {
	if n == "" {
		n = strconv.Itoa(faceRows)
	}
	_, index, _ := strings.Cut(name, ".")
	return face.Form{
		Title: "Another value", Action: h.at("index", nil), Button: "Show",
		Hidden: []face.Input{{Name: "index", Value: name}},
		Fields: []face.Input{
			{Name: "value", Label: strings.TrimSpace("Value " + index), Hint: "Separate parts with a slash. Leave it empty if there is only one ring or board.", Value: value},
			{Name: "n", Label: "Number of entries", Value: n, Number: true},
		},
	}
}

const faceKeys = 300

// A ring may have many shards.
const facePictures = 4

// Pictures draws an index, such as Page.Newest, as stored at a value. It reads about as many keys
// as most, and draws nothing of a private field. It returns ErrUnknown.
func (in *Inspector) Pictures(ctx context.Context, name, value string, most int) ([]templ.Component, error) {
	m, w, err := in.window(name)
	if err != nil {
		return nil, err
	}
	d, ok := w.(plug.Drawn)
	if !ok || isHidden(m, w) {
		return nil, nil
	}
	p, err := d.Picture(ctx, in.store, value, most)
	return drawn(p, name), err
}

// pictures returns nil if w is never drawn.
func (h *faceHandler) pictures(ctx context.Context, w plug.Window, name, value string) face.Part {
	d, ok := w.(plug.Drawn)
	if !ok {
		return nil
	}
	ctx, meter := kvmodel.Metered(ctx)
	p, err := d.Picture(ctx, h.in.store, value, faceKeys)
	section := face.Drawings{Title: "Layout in the store", Note: p.Words, Pictures: drawn(p, name)}
	switch {
	case err != nil:
		section.Note = "No picture: " + err.Error()
	case len(section.Pictures) == 0:
		section.Note = cmp.Or(p.Words, "There is nothing to draw.")
	}
	cost := meter.Cost()
	section.Note = strings.TrimSpace(fmt.Sprintf("%s It took %s and %s.", section.Note,
		console.Some(int64(cost.Trips), "trip", "trips"), console.Some(int64(cost.Keys), "key", "keys")))
	return section
}

func drawn(p plug.Picture, name string) (all []templ.Component) {
	for i, ring := range p.Rings[:min(facePictures, len(p.Rings))] {
		all = append(all, ringPicture(ring, fmt.Sprintf("%s, ring %d of %d", name, i+1, len(p.Rings))))
	}
	if p.Root != nil {
		all = append(all, templates.TreePicture{Title: name, Root: treeNode(*p.Root), Room: int64(p.Room)})
	}
	if len(p.Parts) > 0 {
		all = append(all, listPicture(p, name))
	}
	return all
}

func ringPicture(r plug.Ring, title string) templates.RingPicture {
	p := templates.RingPicture{Title: title, Newest: r.Newest, Counter: r.Head}
	room := 0
	for _, s := range r.Segments {
		segment := templates.Segment{Name: s.Name[max(0, strings.LastIndex(s.Name, "#s")):]}
		for _, slot := range s.Slots {
			segment.Slots = append(segment.Slots, templates.Slot(slot))
		}
		p.Segments = append(p.Segments, segment)
		room += len(s.Slots)
	}
	p.Counts = "used, room for " + templates.Grouped(int64(room))
	return p
}

func treeNode(n plug.Node) templates.Node {
	out := templates.Node{Name: n.Name, Count: int64(n.Count), Shut: n.Closed}
	for _, below := range n.Below {
		out.Children = append(out.Children, treeNode(below))
	}
	return out
}

func listPicture(p plug.Picture, title string) templates.ListPicture {
	l := templates.ListPicture{Title: title, Room: int64(max(p.Room, 1))}
	for _, part := range p.Parts {
		l.Segments = append(l.Segments, templates.ListSegment{Name: part.Name, Live: int64(part.Live), Stale: int64(part.Stale)})
	}
	return l
}
