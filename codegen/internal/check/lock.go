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

// A lock says what the models of a package store, with a line for each thing whose
// loss would orphan data. The lines are sorted to make changes readable diffs.
type lock struct {
	path   string
	models []*lockedModel // sorted by name
}

// A lockedModel is what one model stores.
type lockedModel struct {
	name     string
	source   *model.Model // nil in a lock that was read
	version  int
	id       []lockedItem // in the order of the key
	fields   []lockedItem // sorted by name
	indexes  []lockedItem // sorted by name
	events   []lockedItem // by the name of an option: what the keys of events are made with
	counters []lockedItem // sorted by name
	history  []lockedItem // how many bodies are kept, as "keep"
	gone     []lockedItem // what it once had and may still be stored: the kind and the name of each
	line     int
}

// A lockedItem is one thing that a model stores: its stored name and its form.
type lockedItem struct {
	name, form string
	line       int       // of a lock that was read
	pos        token.Pos // of an index in the source
	alias      bool      // of a field in the source: it is an older name
}

// index returns where in items the one called name is, or -1.
func index(items []lockedItem, name string) int {
	return slices.IndexFunc(items, func(it lockedItem) bool { return it.name == name })
}

// find returns the item of items called name, and whether there is one.
func find(items []lockedItem, name string) (lockedItem, bool) {
	if i := index(items, name); i >= 0 {
		return items[i], true
	}
	return lockedItem{}, false
}

// model returns what the model called name stores, nil if l has none.
func (l *lock) model(name string) *lockedModel {
	i := slices.IndexFunc(l.models, func(m *lockedModel) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return l.models[i]
}

// text returns l as its file holds it.
func (l *lock) text() []byte {
	b := bytes.NewBufferString(lockComment)
	for _, m := range l.models {
		fmt.Fprintf(b, "\nmodel %s\n\tversion %d\n", m.name, m.version)
		for _, kind := range m.kinds() {
			for _, it := range *kind.items {
				fmt.Fprintln(b, strings.TrimRight("\t"+kind.word+" "+it.name+" "+it.form, " "))
			}
		}
	}
	return b.Bytes()
}

// A lockedKind is the items of a model that one word introduces.
type lockedKind struct {
	word  string
	items *[]lockedItem
}

func (m *lockedModel) kinds() []lockedKind {
	return []lockedKind{{"id", &m.id}, {"field", &m.fields}, {"index", &m.indexes}, {"events", &m.events}, {"counter", &m.counters}, {"history", &m.history}, {"gone", &m.gone}}
}

// readLock returns the lock file of the directory dir. If there is none, or one that
// it cannot read and reports, it returns an empty lock.
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

// parseLine adds what line number n says to l.
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
		return fmt.Errorf("a second model %s", rest)
	}
	l.models = append(l.models, &lockedModel{name: rest, version: 1, line: n})
	return nil
}

// parseItem adds what line number n says to m.
func (m *lockedModel) parseItem(word, rest string, n int) (err error) {
	if word == "version" {
		if m.version, err = strconv.Atoi(rest); err != nil {
			return fmt.Errorf("%q is not a version", rest)
		}
		return nil
	}
	for _, kind := range m.kinds() {
		if kind.word == word {
			name, form, _ := strings.Cut(rest, " ")
			*kind.items = append(*kind.items, lockedItem{name: name, form: form, line: n})
			return nil
		}
	}
	return fmt.Errorf("%q is not a word of a lock file", word)
}

func (l *lock) sort() {
	slices.SortFunc(l.models, func(a, b *lockedModel) int { return strings.Compare(a.name, b.name) })
	for _, m := range l.models {
		for _, items := range [][]lockedItem{m.fields, m.indexes, m.counters} {
			slices.SortFunc(items, func(a, b lockedItem) int { return strings.Compare(a.name, b.name) })
		}
	}
}
