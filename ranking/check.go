package ranking

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Report is what Verify has found out about a board.
type Report struct {
	Members int // records that stand where they belong
	Stale   int // entries that nobody needs any more
	Pending int // entries of changes that have not come about, or not yet
	Drift   int // by how much counts are off, added up
	Lost    int // pages that the store has lost

	Leaves, Routers, Depth int
	Way                    int // pages on the way to each entry, added up
	Bytes                  int // of all pages

	Missing []string // texts of the ids, of those given, that should be there
	Wrong   []string // a sentence for each thing that must not be
}

func reportOf(r keytree.Report) Report {
	return Report{
		Members: r.Members, Stale: r.Stale, Pending: r.Pending, Drift: r.Drift, Lost: r.Lost,
		Leaves: r.Leaves, Routers: r.Routers, Depth: r.Depth, Way: r.Way, Bytes: r.Bytes,
		Missing: r.Missing, Wrong: r.Wrong,
	}
}

// Verify reads the whole board and reports what is wrong with it. Which records
// are missing it can only tell of ids. Others may write meanwhile.
func (b *Board[T, K, S]) Verify(ctx context.Context, ids ...K) (Report, error) {
	tree := b.tree(b.by, b.when())
	r, err := tree.Verify(ctx, b.host.Store(), b.texts(ids))
	return reportOf(r), b.failure(err)
}

func (b *Board[T, K, S]) texts(ids []K) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = b.key.Text(id)
	}
	return texts
}

// Mend reports what Verify does and mends it: what nobody needs goes, those of the
// records with ids that are missing are put in, and counts are made exact. Changes
// of records that stand in doubt, which may be under way, begin again.
func (b *Board[T, K, S]) Mend(ctx context.Context, ids ...K) (Report, error) {
	tree := b.tree(b.by, b.when())
	r, err := tree.Mend(ctx, b.host.Store(), b.texts(ids), b.clear)
	if err == nil {
		err = tree.Refresh(ctx, b.host.Store())
	}
	return reportOf(r), b.failure(err)
}

// Refresh makes the board's counts, and so its ranks, exact, as far as nobody
// writes meanwhile. It reads every page.
func (b *Board[T, K, S]) Refresh(ctx context.Context) error {
	return b.failure(b.tree(b.by, b.when()).Refresh(ctx, b.host.Store()))
}

// Rebuild copies the board into pages that are neither empty nor lost, and puts
// in the records with ids, if any are given, that are missing. It is read and
// written meanwhile. It takes three quarters of a minute more than the copying.
// ErrConflict: another process is rebuilding it.
//
// A board grows emptier where scores only rise, by about a byte for each change;
// it may be rebuilt when Verify counts more than a quarter as many leaves as
// members.
func (b *Board[T, K, S]) Rebuild(ctx context.Context, ids ...K) error {
	return b.failure(b.tree(b.by, b.when()).Rebuild(ctx, b.host.Store(), b.texts(ids)))
}

// Stats is what a process knows of its boards.
type Stats struct {
	Routers int // pages remembered
	Bytes   int // of memory that they take, about
	Lost    int // pages that were found missing and made again
}

// Stats returns what this process knows of the board, and of all that are
// boards of other values or periods of it.
func (b *Board[T, K, S]) Stats() Stats {
	n, bytes := b.local.Routers()
	return Stats{n, bytes, b.local.Lost()}
}

var _ kvmodel.Lister[struct{}] = (*Board[struct{}, string, int64])(nil)
var _ kvmodel.Lister[struct{}] = (*Span[struct{}])(nil)
