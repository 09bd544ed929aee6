package inspect

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/inspect/internal/face"
	"github.com/ringtree/ringtree/kvmodel"
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
