package inspect

import (
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// faceHidden is shown on a page in place of data with a private field.
const faceHidden = "Hidden, because it contains a private field. The command shows it with --private."

// isHidden reports whether the index w of m is over a private field, so that its places, its keys
// and their values would show it.
func isHidden(m *model, w plug.Window) bool {
	if m == nil {
		return false
	}
	i := slices.IndexFunc(m.windows, func(v plug.Window) bool { return v.Name() == w.Name() })
	return plug.IsOver(m.Defs()[i], m.Private())
}

// isOpen reports whether the value of a key may be shown unmasked: this program knows it, and it
// has no private field.
func (o *owner) isOpen() bool {
	switch {
	case o.window != nil:
		return !isHidden(o.model, o.window)
	case o.class == "r" || o.class == "h":
		return o.model != nil && len(o.model.Private()) == 0
	case o.class == "n" || o.class == "c" || o.class == "format":
		return true
	}
	return o.known && (o.part == "ids" || o.part == "state")
}

// privateTexts returns the texts of the private fields of a record, in the form of places of an
// index.
func privateTexts(private []string, open []Field) (texts []string) {
	for _, f := range open {
		if text, ok := f.Value.(string); ok && text != "" && slices.Contains(private, f.Name) {
			texts = append(texts, strings.ToLower(kv.JoinText(text)))
		}
	}
	return texts
}

// mask masks the private fields of r, and the places that show them.
func (r *Record) mask(m *model) {
	r.hide(m, privateTexts(m.Private(), r.Fields))
	for i := range r.Fields {
		if slices.Contains(m.Private(), r.Fields[i].Name) {
			r.Fields[i].Value = Masked
		}
	}
}

// hide masks the places of r that show a private field.
func (r *Record) hide(m *model, secrets []string) {
	for i := range r.Places {
		p := &r.Places[i]
		at := slices.IndexFunc(m.windows, func(w plug.Window) bool { return w.Name() == p.Index })
		shows := func(secret string) bool { return strings.Contains(strings.ToLower(p.Value), secret) }
		if !isHidden(m, m.windows[at]) && !slices.ContainsFunc(secrets, shows) {
			continue
		}
		p.Value, p.Bases = Masked, nil
		for j := range p.Wrong {
			p.Wrong[j] = "something is wrong here; it would show a private field"
		}
	}
}
