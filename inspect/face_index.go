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
	"github.com/ringtree/ringtree/templates"
)

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
