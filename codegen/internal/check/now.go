package check

import (
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/output"
	"github.com/ringtree/ringtree/codegen/internal/stored"
)

func lockOf(p *model.Package) *lock {
	l := &lock{path: filepath.Join(p.Dir, output.LockName)}
	f := stored.Quiet(p.Types, p.Has)
	for _, m := range p.Models {
		l.models = append(l.models, lockedOf(m, f))
	}
	l.sort()
	return l
}

func lockedOf(m *model.Model, f *stored.Forms) *lockedModel {
	w := &fieldWalk{Forms: f, open: map[types.Type]bool{m.Type: true}}
	w.walk(m.Type, "")
	k := &lockedModel{name: m.Stored, source: m, version: m.Version, items: map[string][]lockedItem{"field": w.found}}
	for _, p := range m.ID {
		form := stored.KeyKind(p.Type)
		if m.Sequential {
			form += " seq"
		}
		k.add("id", lockedItem{name: p.Stored, form: form})
	}
	for _, c := range m.Counters {
		k.add("counter", lockedItem{name: c.Stored, form: "int"})
	}
	for _, x := range m.Indexes {
		if x.Values {
			k.add("index", lockedItem{name: x.ValuesStored(), form: "values", pos: x.Pos})
		}
		if x.Values && !x.Counted() {
			k.add("counter", lockedItem{name: x.ValuesStored(), form: "int"})
		}
	}
	if e := m.Events; e != nil {
		k.add("id", lockedItem{name: e.By.Stored, form: stored.KeyKind(e.By.Type) + " events " + e.Layout})
		k.add("events", eventsKeys(e)...)
	}
	if m.History > 0 {
		k.add("history", lockedItem{name: "keep", form: strconv.Itoa(m.History)})
	}
	if m.Total {
		k.add("index", lockedItem{name: model.TotalName, form: "total", pos: m.TotalAt})
	}
	k.add("gone", goneOf(&m.Gone)...)
	for _, x := range m.Indexes {
		k.add("index", lockedItem{name: x.Stored, form: formOf(x), pos: x.Pos})
	}
	return k
}

func eventsKeys(e *model.Events) []lockedItem {
	switch e.Layout {
	case "ring":
		return []lockedItem{{name: "keep", form: strconv.Itoa(e.Keep)}}
	case "append":
		return []lockedItem{{name: "ttl", form: e.TTL.String()}}
	}
	return nil
}

// formOf adds the shape to the definition of a timeline, as the library does.
func formOf(x *model.Index) string {
	if x.Ring == nil {
		return x.Def
	}
	what, condition, _ := strings.Cut(x.Def, " if ")
	form := fmt.Sprintf("%s ring %dx%d", what, x.Ring.Shape.Stored(), x.Ring.Shape.Segment)
	if condition != "" {
		form += " if " + condition
	}
	return form
}

// fieldWalk collects the fields of structs, also nested ones, under their stored names.
type fieldWalk struct {
	*stored.Forms
	found []lockedItem
	open  map[types.Type]bool // types on the path, so that recursion ends
}

func (w *fieldWalk) walk(t types.Type, prefix string) {
	for _, f := range w.Fields(t, t.Underlying().(*types.Struct), "", token.NoPos) {
		for i, name := range f.Names {
			form := w.form(f.Type, prefix+name)
			w.found = append(w.found, lockedItem{name: prefix + name, form: form, alias: i > 0})
		}
	}
}

// Types of one form can read each other's values.
func (w *fieldWalk) form(t types.Type, name string) string {
	switch {
	case stored.IsTime(t) || w.IsTimeLike(t):
		return "time"
	case w.OwnForm(t) != "":
		return types.TypeString(t, nil)
	case stored.IsBasic(t, types.IsInteger):
		return "int"
	case stored.IsBasic(t, types.IsFloat):
		return "float"
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Name()
	case *types.Pointer:
		return w.form(u.Elem(), name)
	case *types.Map:
		return "map[" + w.form(u.Key(), name) + "]" + w.form(u.Elem(), name+"{}")
	case interface{ Elem() types.Type }:
		return w.listForm(u.Elem(), name)
	case *types.Struct:
		return w.structForm(t, name)
	}
	return types.TypeString(t, nil)
}

func (w *fieldWalk) structForm(t types.Type, name string) string {
	if w.open[t] {
		return types.TypeString(t, func(p *types.Package) string { return p.Name() })
	}
	w.open[t] = true
	w.walk(t, name+".")
	delete(w.open, t)
	return "struct"
}

func (w *fieldWalk) listForm(elem types.Type, name string) string {
	if b, ok := elem.Underlying().(*types.Basic); ok && b.Kind() == types.Uint8 {
		return "bytes"
	}
	return "[]" + w.form(elem, name+"[]")
}
