package ranking

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel"
)

// Span is a part of a board: the records between two scores, in one direction.
type Span[T any] struct {
	part  part
	wrong error // an invalid bound
}

// Page returns up to n records of the span, like Board.Page. Two trips, and more if records are
// skipped or this process has not read that part of the board.
func (sp *Span[T]) Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	if sp.wrong != nil {
		return kvmodel.Listing[T]{}, sp.wrong
	}
	return pageOf(ctx, &sp.part, cursor, n, keep)
}

// Ascending returns the span, read from its lowest score.
func (sp *Span[T]) Ascending() *Span[T] {
	up := *sp
	up.part.up = true
	return &up
}

// Count returns the number of records in the span, as exactly as Rank. One trip.
func (sp *Span[T]) Count(ctx context.Context) (int, error) {
	if sp.wrong != nil {
		return 0, sp.wrong
	}
	return sp.part.count(ctx, "Count")
}
