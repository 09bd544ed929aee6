package inspect

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/face"
	"github.com/ringtree/ringtree/kvmodel"
)

// faceRows is how many rows a page of an index has unless it is told.
const faceRows = 20

// indexPage shows what a visitor gets of an index.
func (h *faceHandler) indexPage(ctx context.Context, query url.Values) (face.Page, error) {
	name, value := query.Get("index"), query.Get("value")
	m, w, err := h.in.window(name)
	if err != nil {
		return face.Page{}, err
	}
	p := face.Page{Title: name, Lead: "What a visitor gets of this " + w.Kind() + ".", Command: h.pageCommand(name, value, query.Get("n"))}
	if m != nil {
		p.Trail = []face.Link{{Text: m.Name(), Href: h.modelAt(m.Name())}}
	}
	if isHidden(m, w) {
		p.Parts = []templPart{face.Notes{Title: "Not shown", Texts: []face.Text{{Text: faceHidden}}}}
		return p, nil
	}
	p.Parts = []templPart{h.valueForm(name, value, query.Get("n"))}
	n := faceRows
	if text := query.Get("n"); text != "" {
		if n, err = strconv.Atoi(text); err != nil {
			return p, faceError{strconv.Quote(text) + " is not a number of rows.", kvmodel.ErrInvalid}
		}
	}
	got, err := h.in.Page(ctx, name, value, n)
	p.Cost = faceCost(got.Cost)
	if errors.Is(err, errNoValue) {
		note := face.Notes{Title: "Which value?", Texts: []face.Text{{Text: "What stands here stands at a value: say " + name + "/VALUE, or enter one."}}}
		p.Parts = append([]templPart{note}, p.Parts...)
		return p, nil
	}
	if err != nil {
		return p, err
	}
	parts := []templPart{h.rowTable(m, got, value)}
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

// rowTable shows the rows of a page. m is the model of its records, nil if they are none.
func (h *faceHandler) rowTable(m *model, p Page, value string) templPart {
	t := face.Table{
		Title: "Rows", Caption: "The first rows", Columns: face.Columns("Row", "Id", "Stamp or score", "Fields"),
		Empty: "Nothing stands there.",
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
		t.Rows = append(t.Rows, []face.Cell{faceText(strconv.Itoa(i + 1)), {id}, faceText(row.Note), fields})
	}
	return t
}

func (h *faceHandler) valueForm(name, value, n string) face.Form {
	if n == "" {
		n = strconv.Itoa(faceRows)
	}
	_, index, _ := strings.Cut(name, ".")
	return face.Form{
		Title: "Look at another value", Action: h.at("index", nil), Button: "Show the rows",
		Hidden: []face.Input{{Name: "index", Value: name}},
		Fields: []face.Input{
			{Name: "value", Label: strings.TrimSpace("Value " + index), Hint: "Parts are separated by a slash. Empty where there is only one ring or board.", Value: value},
			{Name: "n", Label: "Rows at most", Value: n, Number: true},
		},
	}
}
