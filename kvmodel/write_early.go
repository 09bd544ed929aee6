package kvmodel

import (
	"slices"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Some indexes can do their part of A1 before the record has been read (plug.Early). A change that
// reads first then saves the trip of A1:
//
//  1. The plan of each change records which of these indexes it moved.
//  2. After a few consecutive changes that moved an index, the next one is expected to. Along with
//     A0 it prepares that index and writes its journal line, which cannot name the rev or the
//     places yet.
//  3. If the plan moves only prepared indexes, A1 is skipped. Otherwise A1 prepares the others.
//     Preparations for an index that does not move are wasted.

// unknownPlace stands in a journal line for a place that is not known yet.
const unknownPlace = "?"

// isExpected reports whether the change is expected to move an index that can be prepared early.
func (c *change) isExpected() bool {
	return !c.removes && !c.touches && slices.ContainsFunc(c.streaks, (*streak).isLong)
}

// prepareEarly returns the works to run along with A0: they prepare the expected indexes and write
// the journal line. The rev of the line makes repair always fence the record.
func (c *change) prepareEarly() []func(kv.Store) error {
	l := journal.Line{Model: c.name, ID: c.id, Rev: journal.FenceAlways}
	c.early.marks = make(map[int][]byte)
	works := []func(kv.Store) error{func(s kv.Store) error {
		err := c.note(s, l)
		c.early.line = err == nil
		return err
	}}
	for i := range c.streaks {
		if !c.streaks[i].isLong() {
			continue
		}
		index := c.indexes[i].(plug.Early)
		l.Touched = append(l.Touched, envelope.Touched{Index: c.indexes[i].Name(), Places: []string{unknownPlace}})
		works = append(works, func(s kv.Store) (err error) {
			c.early.marks[i], err = index.Early(c.ctx, s, c.id)
			return err
		})
	}
	return works
}

// useEarly hands the early preparations to the moves of p, and reports whether A1 has nothing left
// to prepare.
func (c *change) useEarly(p *plan) (prepared bool) {
	prepared = c.early.line && !p.created
	for i, mv := range p.moves {
		if mv == nil {
			continue
		}
		if mv.Early = c.early.marks[i]; mv.Early == nil {
			prepared = false
		}
	}
	return prepared
}

// noteStreaks records which indexes p moves, for the expectations of the next change.
func (c *change) noteStreaks(p *plan) {
	if c.removes || c.touches || !p.rec.Envelope.Live() {
		return
	}
	for i, index := range c.indexes {
		if _, can := index.(plug.Early); can {
			c.streaks[i].note(entersNewPlace(p.moves[i]))
		}
	}
}

// entersNewPlace reports whether mv gains a place that the record was not in.
func entersNewPlace(mv *plug.Move) bool {
	if mv == nil {
		return false
	}
	had := wire.SetOf(mv.Had)
	return slices.ContainsFunc(mv.Gained, func(place string) bool { return !had.Has(place) })
}
