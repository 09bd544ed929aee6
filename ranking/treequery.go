package ranking

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// listing is what a cursor must say that it is of.
func (t *Tree[S]) listing() string { return fmt.Sprintf("%s %v", t.spec.Name, t.spec.Low) }

func (t *Tree[S]) down() bool { return !t.spec.Low }

func (t *Tree[S]) want() keytree.Want { return keytree.Want{Met: t.met, Unverified: t.unverified} }

// Unverified returns the tree as its pages have it: its listings do not ask for the
// members' records. That saves a trip, and what a running change or a crash has left
// may be among them.
func (t *Tree[S]) Unverified() *Tree[S] {
	loose := *t
	loose.unverified = true
	return &loose
}

// Get returns the score of the member id; ErrNotFound if there is none.
func (t *Tree[S]) Get(ctx context.Context, id string) (score S, err error) {
	states, err := t.own.States(ctx, t.db.Store(), []string{kv.JoinText(id)})
	if err == nil && !states[0].In {
		err = kv.ErrNotFound
	}
	if err != nil {
		return score, t.about(id, err)
	}
	return t.spec.Of.from(states[0].Score), nil
}

// Page returns up to n members from the place on that cursor stands for, the
// first ones for an empty cursor, and the cursors to go on from, empty where
// there is nothing. Their ranks are not counted: they are 0. Two trips.
func (t *Tree[S]) Page(ctx context.Context, cursor string, n int) (members []Member[S], next, prev string, err error) {
	var at []byte
	if cursor != "" {
		if at, err = kvmodel.ParseCursor(t.listing(), cursor); err != nil {
			return nil, "", "", err
		}
	}
	l, err := t.tree.Page(ctx, t.db.Store(), keytree.Between{}, t.down(), at, n, t.want())
	if err != nil {
		return nil, "", "", t.failure(err)
	}
	for _, m := range l.Members {
		found, err := t.member(m)
		if err != nil {
			return nil, "", "", err
		}
		members = append(members, found)
	}
	return members, t.cursor(l.Next), t.cursor(l.Prev), nil
}

func (t *Tree[S]) cursor(at []byte) string {
	if at == nil {
		return ""
	}
	return kvmodel.Cursor(t.listing(), at)
}

// met takes out, soon, an entry that a query has met.
func (t *Tree[S]) met(d keytree.Doubt) {
	t.db.Soon(func(ctx context.Context) error { return t.clear(ctx, []keytree.Doubt{d}) })
}

// clear takes out the entries of doubtful that their records do not confirm.
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

func (t *Tree[S]) member(m keytree.Member) (Member[S], error) {
	id, err := kv.SplitText(m.ID, 1)
	if err != nil {
		return Member[S]{}, t.failure(err)
	}
	return Member[S]{Score: t.spec.Of.from(m.Score), ID: id[0]}, nil
}

// Rank returns the place of the member id, from 1; ErrNotFound if there is none.
// Two trips.
func (t *Tree[S]) Rank(ctx context.Context, id string) (int, error) {
	st, err := t.tree.Standing(ctx, t.db.Store(), kv.JoinText(id), t.down(), t.spec.Shared)
	return st.Before + 1, t.about(id, err)
}

// At returns the n members from place rank on, which is 1 for the first.
func (t *Tree[S]) At(ctx context.Context, rank, n int) ([]Member[S], error) {
	if rank < 1 {
		return nil, t.failure(fmt.Errorf("%w: rank %d", kvmodel.ErrInvalid, rank))
	}
	part, err := t.tree.At(ctx, t.db.Store(), rank-1, n, t.down(), t.spec.Shared, t.want())
	if err != nil {
		return nil, t.failure(err)
	}
	return t.placed(part)
}

// Around returns the member id, up to n that stand before it and up to n behind
// it. ErrNotFound if there is no such member.
func (t *Tree[S]) Around(ctx context.Context, id string, n int) ([]Member[S], error) {
	part, err := t.tree.Around(ctx, t.db.Store(), kv.JoinText(id), n, t.down(), t.spec.Shared, t.want())
	if err != nil {
		return nil, t.about(id, err)
	}
	return t.placed(part)
}

// placed returns the members of part with their ranks.
func (t *Tree[S]) placed(part keytree.Part) ([]Member[S], error) {
	members := make([]Member[S], len(part.Members))
	for i, m := range part.Members {
		var err error
		if members[i], err = t.member(m); err != nil {
			return nil, err
		}
		members[i].Rank = rankIn(part, i, t.spec.Shared)
	}
	return members, nil
}

// rankIn returns the rank of member i of part, from 1. Where ties share a place,
// it is that of the first of them.
func rankIn(part keytree.Part, i int, shared bool) int {
	first := i
	for shared && first > 0 && part.Members[first-1].Score == part.Members[i].Score {
		first--
	}
	if shared && first == 0 {
		return part.Run + 1
	}
	return part.Before + first + 1
}

// Ascending returns the tree with its order turned round: the last member stands
// first. It has the same members.
func (t *Tree[S]) Ascending() *Tree[S] {
	turned := *t
	turned.spec.Low = !t.spec.Low
	return &turned
}

// Len returns how many members there are, as exactly as Rank. One trip.
func (t *Tree[S]) Len(ctx context.Context) (int, error) {
	n, err := t.tree.Count(ctx, t.db.Store(), keytree.Between{})
	return n, t.failure(err)
}

// Count returns how many members have low <= score < high, as exactly as Rank.
func (t *Tree[S]) Count(ctx context.Context, low, high S) (int, error) {
	between, err := t.between(low, high)
	if err != nil {
		return 0, t.failure(err)
	}
	n, err := t.tree.Count(ctx, t.db.Store(), between)
	return n, t.failure(err)
}

func (t *Tree[S]) between(low, high S) (keytree.Between, error) {
	from, err := t.spec.Of.to(low)
	if err != nil {
		return keytree.Between{}, err
	}
	to, err := t.spec.Of.to(high)
	return keytree.Between{Low: &from, High: &to}, err
}

// Verify reads the whole tree and reports what is wrong with it: see Board.
func (t *Tree[S]) Verify(ctx context.Context, ids ...string) (Report, error) {
	r, err := t.tree.Verify(ctx, t.db.Store(), textsOf(ids))
	return reportOf(r), t.failure(err)
}

// Mend reports what Verify does and mends it: see Board.
func (t *Tree[S]) Mend(ctx context.Context, ids ...string) (Report, error) {
	r, err := t.tree.Mend(ctx, t.db.Store(), textsOf(ids), t.clear)
	if err == nil {
		err = t.tree.Refresh(ctx, t.db.Store())
	}
	return reportOf(r), t.failure(err)
}

// Refresh makes the tree's counts, and so its ranks, exact.
func (t *Tree[S]) Refresh(ctx context.Context) error {
	return t.failure(t.tree.Refresh(ctx, t.db.Store()))
}

// Rebuild copies the tree into pages that are neither empty nor lost.
func (t *Tree[S]) Rebuild(ctx context.Context, ids ...string) error {
	return t.failure(t.tree.Rebuild(ctx, t.db.Store(), textsOf(ids)))
}

func textsOf(ids []string) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = kv.JoinText(id)
	}
	return texts
}

// Stats returns what this process knows of the tree.
func (t *Tree[S]) Stats() Stats {
	n, bytes := t.tree.Local.Routers()
	return Stats{n, bytes, t.tree.Local.Lost()}
}
