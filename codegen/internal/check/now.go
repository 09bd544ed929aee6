package check

import (
	"fmt"
	"go/token"
	"path/filepath"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/output"
	"github.com/ringtree/ringtree/codegen/internal/problem"
	"github.com/ringtree/ringtree/codegen/internal/stored"
)

// lockOf returns what p stores as its source says now.
func lockOf(p *model.Package) *lock {
	l := &lock{path: filepath.Join(p.Dir, output.LockName)}
	// What cannot be stored is reported when the codecs are written.
	f := stored.NewForms(&problem.Reporter{Fset: token.NewFileSet()}, p.Types, p.Has)
	for _, m := range p.Models {
		l.models = append(l.models, lockedOf(m, f))
	}
	l.sort()
	return l
}

// lockedOf returns what m stores, its fields in the form that f gives them.
func lockedOf(m *model.Model, f *stored.Forms) *lockedModel {
	k := &lockedModel{name: m.Stored, version: m.Version, fields: storedFields(f, m.Type)}
	for _, p := range m.ID {
		form := stored.KeyKind(p.Type)
		if m.Sequential {
			form += " seq"
		}
		k.id = append(k.id, lockedItem{name: p.Stored, form: form})
	}
	for _, c := range m.Counters {
		k.counters = append(k.counters, lockedItem{name: c.Stored, form: "int"})
	}
	if e := m.Events; e != nil {
		k.id = append(k.id, lockedItem{name: e.By.Stored, form: stored.KeyKind(e.By.Type) + " events " + e.Layout})
	}
	for _, x := range m.Indexes {
		k.indexes = append(k.indexes, lockedItem{name: x.Stored, form: x.Def})
		if x.Ring != nil {
			k.rings = append(k.rings, lockedItem{name: x.Stored, form: shapes(x.Ring)})
		}
	}
	return k
}

// shapes returns the shapes of r for the lock file, the current one first.
func shapes(r *model.Ring) string {
	var texts []string
	for _, s := range append([]model.RingShape{r.Shape}, r.Before...) {
		texts = append(texts, fmt.Sprintf("%dx%d", s.Size, s.Segment))
	}
	return strings.Join(texts, " ")
}
