package ranking

import (
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
)

// Boards is one Board for each value of type V. A record with several values is on the board of
// each.
type Boards[T any, K comparable, S, V any] struct {
	board *Board[T, K, S]
	by    kvmodel.KeyOf[V]
}

// NewBoards returns the boards described by spec, one for each value of by, and plugs them into
// records.
func NewBoards[T any, K comparable, S, V any](records *kvmodel.Records[T, K], spec Spec[T, S], by kvmodel.By[T, V]) *Boards[T, K, S, V] {
	c := newCore(spec, by.Texts)
	c.many = true
	c.tooMany = func(v plug.Record) error {
		if rec := v.(*T); spec.If == nil || spec.If(rec) {
			return by.Limit(rec)
		}
		return nil
	}
	plugIn(records, c, spec)
	return &Boards[T, K, S, V]{boardOf(records, c, spec), by.Key}
}

// Of returns the board of v.
func (b *Boards[T, K, S, V]) Of(v V) *Board[T, K, S] {
	of := *b.board
	of.part.by = b.by.Text(v)
	return &of
}

// On returns the boards of the period that contains t: see Board.On.
func (b *Boards[T, K, S, V]) On(t time.Time) *Boards[T, K, S, V] {
	return &Boards[T, K, S, V]{b.board.On(t), b.by}
}
