package inspect

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/inspect/internal/face"
	"github.com/ringtree/ringtree/internal/plug"
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
		parts = append(parts, face.Notes{Title: "Problems", Texts: []face.Text{{Text: r.Err.Error(), Wrong: true}}})
	}
	if r.State == "live" {
		parts = append(parts, fieldTable(&r), h.placeTable(&m, &r))
		if form, ok := h.editForm(m, &r, entered); ok {
			parts = append(parts, form)
		}
	}
	p.Parts = append(parts, p.Parts...)
	return p, nil
}

// textOfID returns the text of an id that may have been typed unescaped.
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
		{Name: "Expires", Value: face.Text{Text: faceTime(r.Expires)}},
		{Name: "Key", Value: face.Text{Text: r.Key, Href: h.keyAt(r.Key), Code: true}},
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

func (h *faceHandler) placeTable(m *model, r *Record) face.Part {
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
		t.Rows = append(t.Rows, []face.Cell{{{Text: p.Index, Href: h.indexAt(full, "")}}, {place}, h.keysOf(m, p), p.right()})
	}
	return t
}

func (p *Place) value() string {
	if i := strings.IndexAny(p.Value, "#@"); i >= 0 {
		return p.Value[:i]
	}
	return p.Value
}

func (h *faceHandler) keysOf(m *model, p *Place) (cell face.Cell) {
	for _, w := range m.windows {
		if w.Name() != p.Index {
			continue
		}
		for _, base := range p.Bases {
			key := firstKey(w, base)
			cell = append(cell, face.Text{Text: key, Href: h.keyAt(key), Code: true})
		}
	}
	return cell
}

func firstKey(w plug.Window, base string) string {
	for _, more := range []string{"", "#0", "#n", "#0#n", ":meta"} {
		if b, first := w.Base(base + more); first && b == base {
			return base + more
		}
	}
	return base
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

const faceHex = 4096

func (h *faceHandler) keyPage(ctx context.Context, query url.Values) (face.Page, error) {
	key := query.Get("key")
	p := face.Page{Title: "Key", Lead: key, Command: h.command("get", "--key", key), Parts: []face.Part{h.keyForm(key)}}
	if key == "" {
		p.Command = ""
		return p, faceError{"The key is missing.", kvmodel.ErrInvalid}
	}
	if err := kv.CheckKey(key); err != nil {
		return p, err
	}
	it, err := h.in.Key(ctx, key)
	if err != nil {
		return p, err
	}
	parts := []face.Part{itemFacts(&it)}
	if !it.Exists {
		p.Parts = append(parts, p.Parts...)
		return p, faceError{"The store holds nothing under this key.", kvmodel.ErrNotFound}
	}
	if it.Damaged != nil {
		parts = append(parts, face.Notes{Title: "Problems", Texts: []face.Text{{Text: it.Damaged.Error(), Wrong: true}}})
	}
	p.Parts = append(append(parts, h.itemParts(&it)...), p.Parts...)
	return p, nil
}

func itemFacts(it *Item) face.Facts {
	facts := face.Facts{{Name: "Owner", Value: face.Text{Text: it.Owner}}}
	if !it.Known {
		facts = append(facts, face.Fact{Name: "Known", Value: face.Text{Text: "no, not to this program", Wrong: true}})
	}
	if it.Exists {
		facts = append(facts, face.Fact{Name: "Bytes", Value: face.Text{Text: console.Number(int64(it.Bytes))}})
	}
	return facts
}

// Of an item that may contain a private field, only the decoded lines of a known record are shown.
func (h *faceHandler) itemParts(it *Item) (parts []face.Part) {
	o := h.in.owner(it.Key)
	open := o.isOpen()
	if len(it.Lines) > 0 && (open || o.class == "r" && o.model != nil) {
		n := face.Notes{Title: "Content"}
		for _, line := range it.Lines {
			n.Texts = append(n.Texts, face.Text{Text: line})
		}
		parts = append(parts, n)
	}
	if !open {
		return append(parts, face.Dump{Title: "Bytes", Note: faceHidden})
	}
	d := face.Dump{Title: "Bytes", Text: hex.Dump(it.Value[:min(faceHex, len(it.Value))])}
	if len(it.Value) > faceHex {
		d.Note = fmt.Sprintf("The first %s of %s bytes.", console.Number(faceHex), console.Number(int64(len(it.Value))))
	}
	return append(parts, d)
}

func (h *faceHandler) keyForm(key string) face.Form {
	return face.Form{
		Title: "A key", Action: h.at("key", nil), Button: "Show",
		Fields: []face.Input{{Name: "key", Label: "Key", Hint: "As stored, without the prefix of a tenant.", Value: key, Required: true}},
	}
}
