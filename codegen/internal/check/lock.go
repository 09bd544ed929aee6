package check

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/output"
	"github.com/ringtree/ringtree/codegen/internal/problem"
)

const lockComment = `# What this package stores, as of the last run of kvgen. Keep it under version
# control: kvgen refuses a change that would leave stored data behind.
`

// lock describes the stored data of a package, a line for each thing whose loss would orphan data.
// Lines are sorted, for readable diffs.
type lock struct {
	path   string
	models []*lockedModel
}

type lockedModel struct {
	name    string
	source  *model.Model
	version int
	items   map[string][]lockedItem
	line    int
}

// lockWords are in the order of the file. The items of an id are in the order of the key; gone has
// the kind and name of each former feature, events the options that determine their keys, and
// history the number of kept bodies, as "keep".
var lockWords = []string{"id", "field", "index", "events", "counter", "history", "gone"}

type lockedItem struct {
	name, form string
	line       int       // in a lock read from a file
	pos        token.Pos // of an index in the source
	alias      bool      // for a field in the source: an older name
}

func index(items []lockedItem, name string) int {
	return slices.IndexFunc(items, func(it lockedItem) bool { return it.name == name })
}

func (m *lockedModel) find(word, name string) (lockedItem, bool) {
	if i := index(m.items[word], name); i >= 0 {
		return m.items[word][i], true
	}
	return lockedItem{}, false
}

func (l *lock) model(name string) *lockedModel {
	i := slices.IndexFunc(l.models, func(m *lockedModel) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return l.models[i]
}

func (l *lock) text() []byte {
	b := bytes.NewBufferString(lockComment)
	for _, m := range l.models {
		fmt.Fprintf(b, "\nmodel %s\n\tversion %d\n", m.name, m.version)
		for _, word := range lockWords {
			for _, it := range m.items[word] {
				fmt.Fprintln(b, strings.TrimRight("\t"+word+" "+it.name+" "+it.form, " "))
			}
		}
	}
	return b.Bytes()
}

// readLock returns an empty lock if there is none, or reading fails, which it reports.
func readLock(r *problem.Reporter, dir string) *lock {
	path := filepath.Join(dir, output.LockName)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.In(path, "%v", err)
	}
	l, n := &lock{path: path}, 0
	for line := range strings.Lines(string(text)) {
		n++
		if err := l.parseLine(strings.TrimSpace(line), n); err != nil {
			r.Line(path, n, "%v; resolve the merge or undo the edit", err)
			return &lock{path: path}
		}
	}
	return l
}

func (l *lock) parseLine(line string, n int) error {
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "" || strings.HasPrefix(line, "#"):
		return nil
	case rest == "" || len(l.models) == 0 && word != "model":
		return fmt.Errorf("%q is not a line of a lock file", line)
	case word != "model":
		return l.models[len(l.models)-1].parseItem(word, rest, n)
	case l.model(rest) != nil:
		return fmt.Errorf("model %s is there twice", rest)
	}
	l.models = append(l.models, &lockedModel{name: rest, version: 1, items: map[string][]lockedItem{}, line: n})
	return nil
}

func (m *lockedModel) parseItem(word, rest string, n int) (err error) {
	if word == "version" {
		if m.version, err = strconv.Atoi(rest); err != nil {
			return fmt.Errorf("%q is not a version", rest)
		}
		return nil
	}
	if !slices.Contains(lockWords, word) {
		return fmt.Errorf("unknown word %q in a lock file", word)
	}
	name, form, _ := strings.Cut(rest, " ")
	m.add(word, lockedItem{name: name, form: form, line: n})
	return nil
}

func (m *lockedModel) add(word string, items ...lockedItem) {
	m.items[word] = append(m.items[word], items...)
}

func (l *lock) sort() {
	slices.SortFunc(l.models, func(a, b *lockedModel) int { return strings.Compare(a.name, b.name) })
	for _, m := range l.models {
		for _, word := range []string{"field", "index", "counter"} {
			slices.SortFunc(m.items[word], func(a, b lockedItem) int { return strings.Compare(a.name, b.name) })
		}
	}
}

// recallGone adds the features that the models had in old and no longer have.
func recallGone(p *model.Package, old *lock) {
	for _, m := range p.Models {
		was := old.model(m.Stored)
		if was == nil {
			continue
		}
		for _, x := range was.items["gone"] {
			addGone(m, x.name, x.form)
		}
		for _, word := range []string{"index", "counter", "history"} {
			for _, x := range was.items[word] {
				addGone(m, word, x.name)
			}
		}
		slices.Sort(m.Gone.Indexes)
		slices.Sort(m.Gone.Counters)
	}
}

func addGone(m *model.Model, kind, name string) {
	isTotal := m.Total && name == model.TotalName
	switch kind {
	case "index":
		if name == model.TotalName {
			m.Gone.Counters = with(m.Gone.Counters, name, isTotal)
		}
		has := isTotal || slices.ContainsFunc(m.Indexes, func(x *model.Index) bool { return x.Stored == name || x.Values && x.ValuesStored() == name })
		m.Gone.Indexes = with(m.Gone.Indexes, name, has)
	case "counter":
		has := isTotal || slices.ContainsFunc(m.Counters, func(c *model.Counter) bool { return c.Stored == name }) ||
			slices.ContainsFunc(m.Indexes, func(x *model.Index) bool { return x.Values && !x.Counted() && x.ValuesStored() == name })
		m.Gone.Counters = with(m.Gone.Counters, name, has)
	case "history":
		m.Gone.History = m.History == 0
	}
}

func with(names []string, name string, unwanted bool) []string {
	if unwanted || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

func goneOf(g *model.Gone) (items []lockedItem) {
	for _, name := range g.Counters {
		items = append(items, lockedItem{name: "counter", form: name})
	}
	if g.History {
		items = append(items, lockedItem{name: "history"})
	}
	for _, name := range g.Indexes {
		items = append(items, lockedItem{name: "index", form: name})
	}
	return items
}
