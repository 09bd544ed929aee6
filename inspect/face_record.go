package inspect

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/inspect/internal/face"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

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
