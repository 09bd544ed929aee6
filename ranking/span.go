package ranking

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel"
)

// Span is a part of a board: the records between two scores, in one direction.
type Span[T any] struct {
	part  part
	wrong error // why there is no such part
}

// Page returns up to n records of the span from the position of cursor, the first
// ones for an empty cursor. It leaves out records that a keep rejects, and reads on as
// that of a Board does: the page may be short and have a Next. Two trips, and more if records
// are left out or this process has not seen that part of the board.
func (sp *Span[T]) Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	if sp.wrong != nil {
		return kvmodel.Listing[T]{}, sp.wrong
	}
	return pageOf(ctx, &sp.part, cursor, n, keep)
}

// Ascending returns the span read from its lowest score.
func (sp *Span[T]) Ascending() *Span[T] {
	up := *sp
	up.part.up = true
	return &up
}

// Count returns how many records the span holds, as exactly as Rank. One trip.
func (sp *Span[T]) Count(ctx context.Context) (int, error) {
	if sp.wrong != nil {
		return 0, sp.wrong
	}
	return sp.part.counted(ctx, "Count")
}
