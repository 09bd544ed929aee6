package inspect

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/face"
	"github.com/ringtree/ringtree/kvmodel"
)

// faceRows is the default number of rows on a page of an index.
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
	p.Cost = faceCost(got.Cost)
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

// rowTable shows the rows of a page. m is the model of its records, or nil.
func (h *faceHandler) rowTable(m *model, p Page, value string) face.Part {
	t := face.Table{Title: "Entries", Caption: "The first entries", Columns: face.Columns("#", "ID"), Empty: "There is no entry."}
	hasNotes := slices.ContainsFunc(p.Rows, func(r Row) bool { return r.Note != "" })
	hasFields := slices.ContainsFunc(p.Rows, func(r Row) bool { return len(r.Fields) > 0 })
	if hasNotes {
		t.Columns = append(t.Columns, face.Column{Title: "Stamp or score"})
	}
	if hasFields {
		t.Columns = append(t.Columns, face.Column{Title: "Fields"})
	}
	if value != "" {
		t.Caption += " at " + value
	}
	for i, row := range p.Rows {
		id := face.Text{Text: row.ID}
		if m != nil {
			id.Href = h.recordAt(m.Name(), row.ID)
		}
		var fields face.Cell
		for _, f := range row.Fields {
			fields = append(fields, face.Text{Text: f.Name + ": " + f.Text()})
		}
		cells := []face.Cell{faceText(strconv.Itoa(i + 1)), {id}}
		if hasNotes {
			cells = append(cells, faceText(row.Note))
		}
		if hasFields {
			cells = append(cells, fields)
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
