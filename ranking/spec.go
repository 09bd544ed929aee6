package ranking

import (
	"github.com/ringtree/ringtree/kvmodel"
)

// Spec says what a board is about. kvgen writes it from the tags.
type Spec[T, S any] struct {
	Name string // TopPrice: unique in the model, part of the board's stored keys
	Def  string // the definition; when it changes, the board must be rebuilt

	Of    ScoreOf[S]
	Score func(*T) S    // of a record; nil for a board by Counter
	If    func(*T) bool // which records the board holds; nil: all

	Low    bool // the lowest score stands first
	Shared bool // records with one score stand at one place

	// Counter, if not nil, is what the board goes by, instead of a field. Where
	// Score is given as well, the board goes by that, and looks again whenever
	// the counter changes.
	Counter kvmodel.Counter
	Also    []kvmodel.Counter // with Score: others at whose change the board looks again
	Batch   Batch
	Per     Period // with a Counter: one board for each period, of what was counted in it
	Keep    int    // how many periods are kept; 0 means 2
}

// By says that there is one board for each value of type V.
type By[T, V any] struct {
	Key   kvmodel.KeyOf[V]
	Value func(*T) V
}

// Batch is when a board follows its counter.
type Batch int

const (
	// Windowed: what a process counts is gathered for up to a second, or 4,096
	// records, and then written together. A crash loses nothing: what the board
	// missed comes with the record's next change.
	Windowed Batch = iota

	// Sampled: one change in I is followed, chosen by chance. I is the number of
	// levels of a binary tree with as many leaves as there are members, 23 for ten
	// million, or a 64th of the count if that is more. Nothing is kept in memory;
	// a board lags by I changes of the record on average.
	Sampled

	// Every: each change is followed before the reply.
	Every
)
