package ranking

import (
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// Spec describes a board. kvgen writes it from the tags.
type Spec[T, S any] struct {
	Name string // TopPrice: unique in the model, part of the board's stored keys
	Def  string // the definition; when it changes, the board must be rebuilt

	Of    ScoreOf[S]
	Score func(*T) S    // of a record; nil for a board by Counter
	If    func(*T) bool // which records the board holds; nil: all

	Low  bool // the lowest score comes first
	Ties Ties
	Made func(*T) time.Time // when a record was made, for Newest and Oldest; it never changes

	// Counter, if not nil, gives the scores, instead of a field. If Score is set
	// as well, it gives the scores, and the board calls it again whenever the
	// counter changes.
	Counter kvmodel.Counter
	Also    []kvmodel.Counter // with Score: other counters to watch
	Batch   Batch
	Per     Period // with a Counter: one board for each period, of what was counted in it
	Keep    int    // how many periods are kept; 0 means 2
}
