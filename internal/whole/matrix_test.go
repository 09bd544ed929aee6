package whole_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

type matrix struct {
	name   string // its part of docs/reliability-matrices.md
	items  func(kind, *testing.T) map[string][]byte
	class  func(key string, value []byte) string
	spared []string
	flips  func(value []byte) [tries]*flip // nil: lost
	says   []error                         // errors that may report it
	reach  int                             // percentage of answers that may
	limits map[string]limit                // by class, see limitOf
	first  []string                        // the classes and processes that go test tries
}

const tries = 3

// Harms that cannot be noticed are counted apart.
func (m matrix) goThrough(t *testing.T) {
	t.Helper()
	var few, all []harm
	stores := map[string]map[string][]byte{}
	for i, k := range lossWorlds {
		if i > 0 && !proof.Long() {
			break
		}
		stores[k.name] = m.items(k, t)
		first, every := m.harms(k, stores[k.name])
		few, all = append(few, first...), append(all, every...)
	}
	ever, end, unnoticed, wants := &sheet{corner: "class"}, &sheet{}, &sheet{}, wanted{}
	for h := range proof.Part(t, few, all) {
		row, column, limit := "`"+h.class+"`", h.kind.name+" "+h.column(), m.limitOf(h.class)
		if limit.digit && *h.flip == toDigit {
			unnoticed.put(row, column, "")
			continue
		}
		worst, last := h.try(t, stores[h.kind.name], wants, limit)
		ever.put(row, column, worst)
		end.put(row, column, last)
	}
	ever.merge()
	end.merge()
	for at, worst := range ever.cells {
		ever.cells[at] = []string{inTime(worst[0], end.cells[at][0])}
	}
	ever.unnoticed = len(unnoticed.cells)
	slices.Sort(ever.rows)
	publish(t, m.name, ever, "")
}

// The limit of a class is also that of the class with a model.
func (m matrix) limitOf(class string) limit {
	own, ok := m.limits[class]
	if i := strings.LastIndexByte(class, ' '); !ok && i > 0 {
		return m.limitOf(class[:i])
	}
	return own
}

func inTime(worst, last string) string {
	switch {
	case worst == "right":
		return worst
	case last == "right":
		return worst + ", then right"
	}
	return worst + ", after Rebuild " + last
}

func (m matrix) harms(k kind, items map[string][]byte) (few, all []harm) {
	keys := m.classes(items)
	for _, class := range slices.Sorted(maps.Keys(keys)) {
		for n := range tries {
			key := keys[class][n*(len(keys[class])-1)/(tries-1)]
			h := harm{
				kind: k, class: class, name: key + " lost", hits: func(hit string) bool { return hit == key },
				flip: m.flips(items[key])[n], says: m.says, reach: m.reach, course: usualCourse,
			}
			if h.flip != nil {
				h.name = fmt.Sprint(key, ", ", *h.flip)
			}
			for _, h.running = range []bool{true, false} {
				all = append(all, h)
				if n == 1 && slices.Contains(m.first, class+" "+h.column()) {
					few = append(few, h)
				}
			}
		}
	}
	return few, all
}

func (m matrix) classes(items map[string][]byte) map[string][]string {
	keys := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(items)) {
		if class := m.class(key, items[key]); !slices.Contains(m.spared, class) {
			keys[class] = append(keys[class], key)
		}
	}
	return keys
}
