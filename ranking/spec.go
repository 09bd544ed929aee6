package ranking

import (
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// Spec describes a board. kvgen writes it from the tags.
type Spec[T, S any] struct {
	Name string // TopPrice: unique in the model, part of the board's stored keys
	Def  string // the definition; the board must be rebuilt when it changes

	Of    ScoreOf[S]
	Score func(*T) S    // of a record; nil for a board by Counter
	If    func(*T) bool // selects the records on the board; nil: all

	Low  bool // lowest score first
	Ties Ties
	Made func(*T) time.Time // the creation time, for Newest and Oldest; it never changes

	// Counter, if not nil, replaces the field as the source of scores. If Score is set as well, it
	// gives the scores, and the board calls it again whenever the counter changes.
	Counter kvmodel.Counter
	Also    []kvmodel.Counter // with Score: other counters to watch
	Batch   Batch
	Per     Period // with a Counter: one board for each period, with its counts
	Keep    int    // number of kept periods; 0 means 2
}
