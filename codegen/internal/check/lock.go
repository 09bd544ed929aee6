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

// A lock describes the stored data of a package's models, with a line for each thing whose loss
// would orphan data. The lines are sorted, for readable diffs.
type lock struct {
	path   string
	models []*lockedModel // sorted by name
}

// A lockedModel is the stored data of one model.
type lockedModel struct {
	name     string
	source   *model.Model // nil in a lock read from a file
	version  int
	id       []lockedItem // in the order of the key
	fields   []lockedItem // sorted by name
	indexes  []lockedItem // sorted by name
	events   []lockedItem // by the name of an option: the options that determine the keys of events
	counters []lockedItem // sorted by name
	history  []lockedItem // the number of kept bodies, as "keep"
	gone     []lockedItem // former features that may still be stored: kind and name of each
	line     int
}

// A lockedItem is one stored thing of a model: its stored name and its form.
type lockedItem struct {
	name, form string
	line       int       // in a lock read from a file
	pos        token.Pos // of an index in the source
	alias      bool      // for a field in the source: an older name
}

// index returns the index in items of the one called name, or -1.
func index(items []lockedItem, name string) int {
	return slices.IndexFunc(items, func(it lockedItem) bool { return it.name == name })
}

// find returns the item called name, and whether there is one.
func find(items []lockedItem, name string) (lockedItem, bool) {
	if i := index(items, name); i >= 0 {
		return items[i], true
	}
	return lockedItem{}, false
}

// model returns the model called name, or nil.
func (l *lock) model(name string) *lockedModel {
	i := slices.IndexFunc(l.models, func(m *lockedModel) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return l.models[i]
}

// text returns l in the form of its file.
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

// A lockedKind is the items of a model introduced by one word.
type lockedKind struct {
	word  string
	items *[]lockedItem
}

func (m *lockedModel) kinds() []lockedKind {
	return []lockedKind{{"id", &m.id}, {"field", &m.fields}, {"index", &m.indexes}, {"events", &m.events}, {"counter", &m.counters}, {"history", &m.history}, {"gone", &m.gone}}
}

// readLock reads the lock file of the directory dir. If there is none, or reading fails, which it
// reports, it returns an empty lock.
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

// parseLine adds line number n to l.
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
	l.models = append(l.models, &lockedModel{name: rest, version: 1, line: n})
	return nil
}

// parseItem adds line number n to m.
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
	return fmt.Errorf("unknown word %q in a lock file", word)
}

func (l *lock) sort() {
	slices.SortFunc(l.models, func(a, b *lockedModel) int { return strings.Compare(a.name, b.name) })
	for _, m := range l.models {
		for _, items := range [][]lockedItem{m.fields, m.indexes, m.counters} {
			slices.SortFunc(items, func(a, b lockedItem) int { return strings.Compare(a.name, b.name) })
		}
	}
}
