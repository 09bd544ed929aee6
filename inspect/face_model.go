package inspect

import (
	"context"
	"net/url"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/inspect/internal/face"
)

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
		p.Parts = append(p.Parts, face.Notes{Title: "Problems", Texts: []face.Text{{Text: ms.Err.Error(), Wrong: true}}})
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
