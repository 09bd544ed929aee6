package ranking

import (
	"cmp"
	"context"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Verify reads the whole board and reports problems, including records of ids that are missing. The
// board may change while it runs.
func (b *Board[T, K, S]) Verify(ctx context.Context, ids ...K) (Report, error) {
	return b.part.verify(ctx, b.texts(ids))
}

func (p part) verify(ctx context.Context, ids []string) (Report, error) {
	ctx, end := p.host.Begin(ctx, "Verify")
	defer end()
	return p.reader().verify(ctx, ids)
}

func (b *Board[T, K, S]) texts(ids []K) []string { return kv.Texts(ids, b.key.Text) }

// Mend reports like Verify and repairs: it removes unneeded entries, adds missing entries of ids,
// rewrites damaged member records, and makes counts exact. A board by a counter also catches up
// with the counts of ids. A concurrent change may have to start over.
func (b *Board[T, K, S]) Mend(ctx context.Context, ids ...K) (Report, error) {
	return b.part.mend(ctx, b.texts(ids))
}

func (p part) mend(ctx context.Context, ids []string) (Report, error) {
	ctx, end := p.host.Begin(ctx, "Mend")
	defer end()
	if err := p.host.DB().Writable(); err != nil {
		return Report{}, p.failure(err)
	}
	if p.catchUp != nil {
		if err := p.catchUp(ctx, p.by, p.when(), ids); err != nil {
			return Report{}, p.failure(err)
		}
	}
	var first *Report
	err := p.withAllIfLost(ctx, ids, func(ids []string, lost uint64) error {
		found, err := p.reader().mend(ctx, ids, lost, p.clear)
		first = cmp.Or(first, &found)
		return err
	})
	return *cmp.Or(first, new(Report)), err
}

// Refresh makes the board's counts, and so its ranks, exact, unless the board changes while it
// runs. It reads every node.
func (b *Board[T, K, S]) Refresh(ctx context.Context) error {
	ctx, end := b.part.host.Begin(ctx, "Refresh")
	defer end()
	return b.part.reader().refresh(ctx)
}

// Rebuild copies the board into new nodes, without empty or lost ones, and adds missing entries of
// ids. The board can be read and written while it runs, 45 seconds longer than the copying.
// ErrConflict: another process is rebuilding the board.
//
// A board whose scores only rise leaves empty nodes behind, about a byte for each change. Rebuild
// it when Verify counts more than a quarter as many leaves as members.
func (b *Board[T, K, S]) Rebuild(ctx context.Context, ids ...K) error {
	ctx, end := b.part.host.Begin(ctx, "Rebuild")
	defer end()
	return b.part.withAllIfLost(ctx, b.texts(ids), func(ids []string, lost uint64) error {
		return b.part.reader().rebuild(ctx, ids, lost)
	})
}

// Stats returns this process's statistics about the board, including its other values and periods.
func (b *Board[T, K, S]) Stats() Stats { return b.part.reader().stats() }

var _ kvmodel.Lister[struct{}] = (*Board[struct{}, string, int64])(nil)
var _ kvmodel.Lister[struct{}] = (*Span[struct{}])(nil)
