package ranking

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// view is a part of a board as it is read: one tree, between two scores, in one
// direction.
type view[T any] struct {
	*core[T]
	by      string
	at      time.Time // in the period that is read
	between keytree.Between
	up      bool // from the lowest score
}

// when returns a moment in the period that is read: if none was chosen, the one
// under way.
func (v view[T]) when() time.Time {
	if v.at.IsZero() {
		return v.host.DB().Now()
	}
	return v.at
}

// gone tells whether the view is of a period that is not kept, or is to come.
func (v view[T]) gone() bool {
	if v.per == Forever {
		return false
	}
	now := v.host.DB().Now()
	return !v.per.add(v.when(), v.keep).After(now) || v.per.begin(v.when()).After(now)
}

// open returns the tree to read; nil if there is nothing to be read.
func (v view[T]) open(ctx context.Context) (*keytree.Tree, error) {
	if err := v.host.Ready(ctx); err != nil {
		return nil, err
	}
	if v.gone() {
		return nil, nil
	}
	return v.tree(v.by, v.when()).Tree, nil
}

func (v view[T]) down() bool { return !v.up }

// listing is what a cursor of this view must say that it is of.
func (v view[T]) listing() string {
	name := v.host.Model() + "." + v.name
	if v.many {
		name += ":" + v.by
	}
	if v.up {
		name += "+"
	}
	return name + "@" + v.per.name(v.when())
}

// want returns how the tree is to be asked for records that keep lets through.
func (v view[T]) want(keep []func(*T) bool) keytree.Want {
	w := keytree.Want{Met: v.met}
	if v.own {
		w.Beside = v.records
	}
	w.Keep = func(m keytree.Member) bool {
		rec, _ := m.Value.(*T)
		for _, f := range keep {
			if !f(rec) {
				return false
			}
		}
		return rec != nil
	}
	return w
}

// records reads the records of ids for a board whose members have others of
// their own: a member counts only while its record belongs to the board.
func (v view[T]) records(ctx context.Context, s kv.Store, ids []string) ([]any, error) {
	recs, err := v.host.See(ctx, s, ids...)
	if err != nil {
		return nil, err
	}
	values := make([]any, len(recs))
	for i, rec := range recs {
		if stateIn(v.by, rec.Places, rec.Rev).In {
			values[i] = rec.Value
		}
	}
	return values, nil
}

// met takes out, soon, an entry that a query has met.
func (v view[T]) met(d keytree.Doubt) {
	if v.own {
		v.host.DB().Soon(func(ctx context.Context) error { return v.clearOwn(ctx, []keytree.Doubt{d}) })
		return
	}
	v.host.Meet(d.ID, place{by: v.by, score: d.Score}.String(), d.Past)
}

// clear takes out the entries of doubtful that their records do not confirm.
func (v view[T]) clear(ctx context.Context, doubtful []keytree.Doubt) error {
	if v.own {
		return v.clearOwn(ctx, doubtful)
	}
	for _, d := range doubtful {
		v.met(d)
	}
	return v.host.DB().Flush(ctx)
}

// clearOwn is clear where members have records of their own. Where the model's
// record does not belong to the board any more, the member goes as well.
func (v view[T]) clearOwn(ctx context.Context, doubtful []keytree.Doubt) error {
	s, tree, due := v.host.Store(), v.tree(v.by, v.when()), new(keytree.Due)
	defer v.reports.add(due)
	for _, d := range doubtful {
		err := tree.Set(ctx, s, tree.own, d.ID, v.stay(d.ID), due)
		if err == nil {
			err = tree.Clear(ctx, s, tree.own, d, due)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stay is the change that takes a member out if the model's record does not belong
// to the board any more.
func (v view[T]) stay(id string) keytree.Change {
	return func(ctx context.Context, s kv.Store, old keytree.State) (keytree.Score, bool, error) {
		values, err := v.records(ctx, s, []string{id})
		if err != nil {
			return 0, false, err
		}
		return old.Score, old.In && values[0] != nil, nil
	}
}

// page returns one page of records.
func (v view[T]) page(ctx context.Context, cursor string, n int, keep []func(*T) bool) (kvmodel.Listing[T], error) {
	l, err := v.members(ctx, cursor, n, v.want(keep))
	out := kvmodel.Listing[T]{Next: v.cursor(l.Next), Prev: v.cursor(l.Prev)}
	for _, m := range l.Members {
		out.Items = append(out.Items, m.Value.(*T))
	}
	return out, err
}

// members returns one page of members.
func (v view[T]) members(ctx context.Context, cursor string, n int, w keytree.Want) (keytree.Listing, error) {
	var at []byte
	if cursor != "" {
		var err error
		if at, err = kvmodel.ParseCursor(v.listing(), cursor); err != nil {
			return keytree.Listing{}, err
		}
	}
	tree, err := v.open(ctx)
	if tree == nil || err != nil {
		return keytree.Listing{}, err
	}
	l, err := tree.Page(ctx, v.host.Store(), v.between, v.down(), at, n, w)
	return l, v.failure(err)
}

func (v view[T]) cursor(at []byte) string {
	if at == nil {
		return ""
	}
	return kvmodel.Cursor(v.listing(), at)
}

func (v view[T]) count(ctx context.Context) (int, error) {
	tree, err := v.open(ctx)
	if tree == nil || err != nil {
		return 0, err
	}
	n, err := tree.Count(ctx, v.host.Store(), v.between)
	return n, v.failure(err)
}
