package kvmodel

import (
	"slices"
	"sync/atomic"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// earlyAfter is how many changes in a row have to move records of an index
// before the next is expected to: what is prepared in vain is lost.
const earlyAfter = 3

// somewhere stands in a journal line for a place that is not known yet.
const somewhere = "?"

// streak counts how many changes in a row have moved records of an index that
// can be early.
type streak struct{ n atomic.Int32 }

func (s *streak) isLong() bool { return s.n.Load() >= earlyAfter }

func (s *streak) note(moved bool) {
	if !moved {
		s.n.Store(0)
	} else if !s.isLong() {
		s.n.Add(1)
	}
}

// expects returns the numbers of the indexes that the next change is expected
// to move. Only those that can be early are ever among them.
func (m *model[T]) expects() []int {
	var all []int
	for i := range m.streaks {
		if m.streaks[i].isLong() {
			all = append(all, i)
		}
	}
	return all
}

// early is what a change has prepared while it read the record.
type early struct {
	marks map[int][]byte // by number of the index
	line  bool           // its journal line is written
}

// readEarly returns the works that prepare, beside A0, what the change is
// expected to need, and a journal line that makes repair fence the record
// whatever its rev is: that is not known yet.
func (c *change[T]) readEarly() []func(kv.Store) error {
	c.early = early{}
	expected := c.expects()
	if len(expected) == 0 || c.removes || c.db.atomic != nil {
		return nil
	}
	l := line{model: c.name, id: c.id, rev: fenceAlways}
	c.early.marks = make(map[int][]byte)
	var works []func(kv.Store) error
	for _, i := range expected {
		index := c.indexes[i].(plug.Early)
		l.touched = append(l.touched, envelope.Touched{Index: c.indexes[i].Name(), Places: []string{somewhere}})
		works = append(works, func(s kv.Store) (err error) {
			c.early.marks[i], err = index.Early(c.ctx, s, c.id)
			return err
		})
	}
	return append(works, func(s kv.Store) error {
		err := c.note(s, l)
		c.early.line = err == nil
		return err
	})
}

// useEarly gives the moves of p what was prepared for them, and tells whether
// nothing is left to be prepared. It remembers what moved for the next change.
func (c *change[T]) useEarly(p *plan[T]) (prepared bool) {
	prepared = c.early.line && !p.created
	for i, index := range c.indexes {
		mv := p.moves[i]
		moved := mv != nil && slices.ContainsFunc(mv.Gained, func(place string) bool { return !slices.Contains(mv.Had, place) })
		if _, can := index.(plug.Early); can && !c.removes && p.rec.Envelope.Live() {
			c.streaks[i].note(moved)
		}
		if mv == nil {
			continue
		}
		if mv.Early = c.early.marks[i]; mv.Early == nil {
			prepared = false
		}
	}
	return prepared
}
