package check

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/output"
	"github.com/ringtree/ringtree/codegen/internal/problem"
)

// comparison looks for stored data that now would make unreadable.
type comparison struct {
	*problem.Reporter
	old, now *lock
}

// Lock returns the lock file of p, and notes former features on the models. Unless accept is set,
// it reports changes that would orphan stored data.
func Lock(r *problem.Reporter, p *model.Package, accept bool) output.File {
	if accept {
		recallGone(p, readLock(&problem.Reporter{Fset: r.Fset, Dir: r.Dir}, p.Dir))
		now := lockOf(p)
		return output.File{Path: now.path, Text: now.text()}
	}
	old := readLock(r, p.Dir)
	recallGone(p, old)
	now := lockOf(p)
	comparison{r, old, now}.refuse()
	return output.File{Path: now.path, Text: now.text()}
}

func (c comparison) refuse() {
	for _, was := range c.old.models {
		is := c.now.model(was.name)
		if is == nil {
			c.modelGone(was)
			continue
		}
		c.version(was, is)
		c.id(was, is)
		c.fields(was, is)
		c.indexes(was, is)
		c.counters(was, is)
		c.events(was, is)
		c.history(was, is)
	}
}

func (c comparison) gone(line int, format string, args ...any) {
	c.Line(c.old.path, line, format, args...)
}

func (c comparison) modelGone(was *lockedModel) {
	remedy := "if its struct was renamed, say `kv:\"model,was=" + was.name + "\"` there on a field _ struct{}"
	if heir := c.heir(was); heir != nil {
		remedy = fmt.Sprintf("if it is %s now, say `kv:\"model,was=%s\"` there on a field _ struct{}", heir.name, was.name)
	}
	c.gone(was.line, "no model is stored as %s anymore, and its records would be left behind: %s; if they are not needed, run kvgen -accept, and call DropModel of the DB with that name", was.name, remedy)
}

// heir returns the new model that shares the most fields with was, more than half, or nil.
func (c comparison) heir(was *lockedModel) *lockedModel {
	var best *lockedModel
	most := max(1, len(was.items["field"])/2)
	for _, m := range c.now.models {
		if c.old.model(m.name) != nil {
			continue
		}
		shared := 0
		for _, f := range was.items["field"] {
			if _, ok := m.find("field", f.name); ok {
				shared++
			}
		}
		if shared > most {
			best, most = m, shared
		}
	}
	return best
}

func (c comparison) version(was, is *lockedModel) {
	if is.version < was.version {
		c.At(is.source.Pos, "version of %s went from %d back to %d: stored records would be newer than the code; say version=%d or more", is.source.Name, was.version, is.version, was.version)
	}
}

// id reports an id that makes other keys: records would stay under the old ones.
func (c comparison) id(was, is *lockedModel) {
	sameForm := func(a, b lockedItem) bool { return a.form == b.form }
	if !slices.EqualFunc(was.items["id"], is.items["id"], sameForm) || isOther(was.items["id"], is) {
		c.At(is.source.Pos, "the id of %s was %s and is %s: its records would stay under their old keys; keep the old id, or export the records, run kvgen -accept and import them",
			is.source.Name, describeID(was.items["id"]), describeID(is.items["id"]))
	}
}

// isOther reports whether a part of the id was is another field now, and not only renamed.
func isOther(was []lockedItem, is *lockedModel) bool {
	for i, part := range was {
		if is.items["id"][i].name == part.name {
			continue
		}
		if old, ok := is.find("field", part.name); ok && !old.alias {
			return true
		}
	}
	return false
}

func describeID(id []lockedItem) string {
	parts := make([]string, len(id))
	for i, it := range id {
		parts[i] = it.name + " " + it.form
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func (c comparison) fields(was, is *lockedModel) {
	for _, f := range was.items["field"] {
		now, ok := is.find("field", f.name)
		switch {
		case !ok:
			c.gone(f.line, "%s.%s is stored, but no field reads it anymore: %s; if it is not needed, run kvgen -accept (the stored values stay in the records)", is.source.Name, f.name, c.renamed(f, was, is))
		case now.form != f.form && index(was.items["id"], f.name) < 0:
			c.gone(f.line, "%s.%s is stored as %s, but is %s now, which cannot read it: store the new form in a field of another name and fill it in Upgrade; if there are no such records, run kvgen -accept", is.source.Name, f.name, f.form, now.form)
		}
	}
}

func (c comparison) renamed(gone lockedItem, was, is *lockedModel) string {
	var fresh []string
	for _, f := range is.items["field"] {
		_, old := was.find("field", f.name)
		if !old && f.form == gone.form && path.Dir(slashed(f.name)) == path.Dir(slashed(gone.name)) {
			fresh = append(fresh, f.name)
		}
	}
	heir := "it was renamed"
	if len(fresh) == 1 {
		heir = "it is " + fresh[0] + " now"
	} else if meant := english.Nearest(gone.name, fresh); meant != "" {
		heir = "it is " + meant + " now"
	}
	return fmt.Sprintf("if %s, put `msgpack:%q` on that", heir, path.Base(slashed(gone.name)))
}

func slashed(name string) string { return strings.ReplaceAll(name, ".", "/") }

func (c comparison) indexes(was, is *lockedModel) {
	for _, x := range was.items["index"] {
		now, ok := is.find("index", x.name)
		list, values := model.ValuesOf(x.name)
		switch {
		case !ok && x.name == model.TotalName:
			c.gone(x.line, "the records of %s are not counted anymore, and their numbers would be left behind: say model,count again; if they are not needed, run kvgen -accept, and Rebuild drops them", is.source.Name)
		case !ok && values:
			if _, ok := is.find("index", list); ok {
				c.gone(x.line, "the values of %s.%s are not kept anymore, and what is stored of them would be left behind: say values on that list again; if they are not needed, run kvgen -accept, and Rebuild drops them",
					is.source.Name, list)
			}
		case !ok:
			c.gone(x.line, "no index of %s is stored as %s anymore (%s), and its entries would be left behind: if it was renamed, say was=%s there, or name=%s to keep the name; if it is not needed, run kvgen -accept, and Rebuild drops them",
				is.source.Name, x.name, x.form, x.name, x.name)
		case entries(now.form) != entries(x.form):
			c.At(now.pos, "the index stored as %s was %s and is %s: its entries would be misread; give it a name of its own by name=, or run kvgen -accept and rebuild it",
				x.name, entries(x.form), entries(now.form))
		}
	}
}

func (c comparison) events(was, is *lockedModel) {
	for _, x := range was.items["events"] {
		if now, ok := is.find("events", x.name); ok && now.form != x.form {
			c.At(is.source.Pos, "%s of %s was %s and is %s: its events would stay under their old keys; keep it, or give the new ones a name of their own by name=; if the old ones are not needed, run kvgen -accept",
				x.name, is.source.Name, x.form, now.form)
		}
	}
}

func (c comparison) counters(was, is *lockedModel) {
	for _, x := range was.items["counter"] {
		_, ok := is.find("counter", x.name)
		_, kept := is.find("index", x.name)
		list, values := model.ValuesOf(x.name)
		switch {
		case ok || values && !kept: // Dropped values have been reported already.
		case values:
			c.gone(x.line, "the values of %s.%s are counted by count= now, and the numbers they had would be left behind: run kvgen -accept, and Rebuild drops them",
				is.source.Name, list)
		default:
			c.gone(x.line, "no counter of %s is stored as %s anymore, and its numbers would be left behind: if it was renamed, say was=%s there; if it is not needed, run kvgen -accept, and Rebuild drops them",
				is.source.Name, x.name, x.name)
		}
	}
}

func (c comparison) history(was, is *lockedModel) {
	if len(was.items["history"]) > 0 && len(is.items["history"]) == 0 {
		c.gone(was.items["history"][0].line, "%s has no history anymore, and the earlier bodies of its records would be left behind: say history=%s again; if they are not needed, run kvgen -accept, and Rebuild drops them",
			is.source.Name, was.items["history"][0].form)
	}
}

// entries leaves out the condition and the time for which entries count: a rebuild handles these.
func entries(form string) string {
	text, _, _ := strings.Cut(form, " if ")
	text, _, _ = strings.Cut(text, " for ")
	return text
}
