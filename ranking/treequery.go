package ranking

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// reader returns what reads the tree.
func (t *Tree[S]) reader() *reader {
	return &reader{
		tree: t.tree, db: t.db, name: "ranking " + t.spec.Name,
		listing: fmt.Sprintf("%s %v", t.spec.Name, t.spec.Low),
		down:    !t.spec.Low, ranks: t.ranks(),
	}
}

func (t *Tree[S]) ranks() keytree.Ranks {
	if t.spec.Shared {
		return keytree.Shared
	}
	return keytree.Single
}

func (t *Tree[S]) want() keytree.Want { return keytree.Want{Met: t.met} }

// Get returns the score of the member id; ErrNotFound if there is none.
func (t *Tree[S]) Get(ctx context.Context, id string) (score S, err error) {
	ctx, end := t.db.Begin(ctx, "Get")
	defer end()
	states, err := t.own.States(ctx, t.db.Store(), []string{kv.JoinText(id)})
	if err == nil {
		err = states[0].Broken
	}
	if err == nil && !states[0].In {
		err = kv.ErrNotFound
	}
	if err != nil {
		return score, t.about(id, err)
	}
	return t.spec.Of.from(states[0].Score), nil
}

// Page returns up to n members from the position of cursor, the first ones for
// an empty cursor, and the cursors of the next and the previous page, empty
// where there is none. It does not count ranks: they are 0. Two trips.
func (t *Tree[S]) Page(ctx context.Context, cursor string, n int) (members []Member[S], next, prev string, err error) {
	ctx, end := t.db.Begin(ctx, "Page")
	defer end()
	l, next, prev, err := t.reader().page(ctx, cursor, n, t.want())
	if err == nil {
		members, err = t.members(l.Part)
	}
	return members, next, prev, err
}

// Rank returns the rank of the member id, from 1; ErrNotFound if there is none.
// Two trips.
func (t *Tree[S]) Rank(ctx context.Context, id string) (int, error) {
	ctx, end := t.db.Begin(ctx, "Rank")
	defer end()
	st, err := t.reader().standing(ctx, kv.JoinText(id))
	return st.Rank, err
}

// At returns n members, 1 to 1000, from the given rank on; the first rank is 1.
func (t *Tree[S]) At(ctx context.Context, rank, n int) ([]Member[S], error) {
	ctx, end := t.db.Begin(ctx, "At")
	defer end()
	part, err := t.reader().at(ctx, rank, n, t.want())
	return t.ranked(part, err)
}

// Around returns the member id, up to n before it and up to n after it. n is from 1 to 1000.
// ErrNotFound if there is no such member.
func (t *Tree[S]) Around(ctx context.Context, id string, n int) ([]Member[S], error) {
	ctx, end := t.db.Begin(ctx, "Around")
	defer end()
	part, err := t.reader().around(ctx, kv.JoinText(id), n, t.want())
	return t.ranked(part, err)
}

// ranked returns the members of part with their ranks, unless there is an err.
func (t *Tree[S]) ranked(part keytree.Part, err error) ([]Member[S], error) {
	if err != nil {
		return nil, err
	}
	members, err := t.members(part)
	for i, rank := range part.Ranks(t.ranks()) {
		members[i].Rank = rank
	}
	return members, err
}

// members returns the members of part, without their ranks.
func (t *Tree[S]) members(part keytree.Part) ([]Member[S], error) {
	members := make([]Member[S], len(part.Members))
	for i, m := range part.Members {
		id, err := kv.SplitText(m.ID, 1)
		if err != nil {
			return nil, t.about(m.ID, err)
		}
		members[i] = Member[S]{Score: t.spec.Of.from(m.Score), ID: id[0]}
	}
	return members, nil
}

// Ascending returns the same members in the opposite order.
func (t *Tree[S]) Ascending() *Tree[S] {
	turned := *t
	turned.spec.Low = !t.spec.Low
	return &turned
}

// Len returns how many members there are, as exactly as Rank. One trip.
func (t *Tree[S]) Len(ctx context.Context) (int, error) {
	ctx, end := t.db.Begin(ctx, "Len")
	defer end()
	return t.reader().count(ctx)
}

// Count returns how many members have low <= score < high, as exactly as Rank.
func (t *Tree[S]) Count(ctx context.Context, low, high S) (int, error) {
	ctx, end := t.db.Begin(ctx, "Count")
	defer end()
	r := t.reader()
	var err error
	if r.between, err = t.spec.Of.between(low, high); err != nil {
		return 0, r.failure(err)
	}
	return r.count(ctx)
}

// Verify reads the whole tree and reports what is wrong with it: see Board.
func (t *Tree[S]) Verify(ctx context.Context, ids ...string) (Report, error) {
	ctx, end := t.db.Begin(ctx, "Verify")
	defer end()
	return t.reader().verify(ctx, textsOf(ids))
}

// Mend reports what Verify does and repairs it: see Board. If the store has lost a part
// of the tree, give the ids of all members: those are taken for all there are.
func (t *Tree[S]) Mend(ctx context.Context, ids ...string) (Report, error) {
	ctx, end := t.db.Begin(ctx, "Mend")
	defer end()
	return t.reader().mend(ctx, textsOf(ids), len(ids) > 0, t.clear)
}

// Refresh makes the tree's counts, and so its ranks, exact.
func (t *Tree[S]) Refresh(ctx context.Context) error {
	ctx, end := t.db.Begin(ctx, "Refresh")
	defer end()
	return t.reader().refresh(ctx)
}

// Rebuild copies the tree into new nodes, none of them empty or lost: see Board. If the
// store has lost a part of the tree, give the ids of all members: the tree answers
// ErrNeedsRebuild until it was rebuilt with some, which are taken for all there are.
func (t *Tree[S]) Rebuild(ctx context.Context, ids ...string) error {
	ctx, end := t.db.Begin(ctx, "Rebuild")
	defer end()
	return t.reader().rebuild(ctx, textsOf(ids), len(ids) > 0)
}

func textsOf(ids []string) []string {
	return kv.Texts(ids, func(id string) string { return kv.JoinText(id) })
}

// Stats returns what this process knows of the tree.
func (t *Tree[S]) Stats() Stats { return t.reader().stats() }

// met removes, in the background, an entry that a query found to be stale.
func (t *Tree[S]) met(d keytree.Doubt) {
	t.db.Soon(func(ctx context.Context) error { return t.clear(ctx, []keytree.Doubt{d}) })
}

// clear removes those of the entries that their records do not confirm.
func (t *Tree[S]) clear(ctx context.Context, doubtful []keytree.Doubt) error {
	due := new(keytree.Due)
	defer t.reports.add(due)
	for _, d := range doubtful {
		if err := t.tree.Clear(ctx, t.db.Store(), t.own, d, due); err != nil {
			return err
		}
	}
	return nil
}
