package inspect

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/url"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/inspect/internal/face"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// faceHex is the maximum number of bytes of a value on a page.
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

// itemParts show the decoded item and its bytes. If the item may contain a private field, they show
// only the decoded lines of a record of a known model.
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
