package ranking

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// part is a part of a board: one of its trees, between two scores, in one direction.
type part struct {
	*core
	by      string
	at      time.Time // a time in the period to read
	between keytree.Between
	up      bool // lowest score first
}

// when returns a time in the period to read, the current one by default.
func (p part) when() time.Time {
	if p.at.IsZero() {
		return p.host.DB().Now()
	}
	return p.at
}

// gone reports whether the period to read was dropped or is in the future.
func (p part) gone() bool {
	if p.per == Forever {
		return false
	}
	now := p.host.DB().Now()
	return !p.per.add(p.when(), p.keep).After(now) || p.per.begin(p.when()).After(now)
}

// reader returns a reader of the part.
func (p part) reader() *reader { return p.readerOf(p.tree(p.by, p.when()).Tree) }

func (p part) readerOf(tree *keytree.Tree) *reader {
	return &reader{
		tree: tree, db: p.host.DB(), name: p.title(), listing: p.listing(),
		between: p.between, down: !p.up, ranks: p.ranks, ahead: &p.ahead,
	}
}

// open returns a reader of the part, once the board is ready.
func (p part) open(ctx context.Context) (*reader, error) {
	if err := p.host.Ready(ctx); err != nil {
		return nil, err
	}
	if p.gone() {
		return p.readerOf(nil), nil
	}
	return p.reader(), nil
}

// listing is the name that cursors of this part carry.
func (p part) listing() string {
	name := p.title()
	if p.many {
		name += ":" + p.by
	}
	if p.up {
		name += "+"
	}
	return name + "@" + p.per.name(p.when())
}

// want selects the records that keep accepts, all if it is nil.
func (p part) want(keep func(plug.Record) bool) keytree.Want {
	w := keytree.Want{Met: p.met}
	if p.own {
		w.Beside = p.records
		w.Gone = p.restore
	}
	w.Keep = func(m keytree.Member) bool { return m.Value != nil && (keep == nil || keep(m.Value)) }
	return w
}

// records reads the model's records for a board whose members have records of their own. A member
// counts only while its model's record belongs on the board.
func (p part) records(ctx context.Context, s kv.Store, ids []string) ([]any, error) {
	recs, err := p.host.See(ctx, s, ids...)
	if err != nil {
		return nil, err
	}
	values := make([]any, len(recs))
	for i, rec := range recs {
		if stateOf(p.by, rec).In {
			values[i] = rec.Value
		}
	}
	return values, nil
}

// met removes a stale entry found by a query, in the background.
func (p part) met(d keytree.Doubt) {
	if p.own {
		p.host.DB().Soon(func(ctx context.Context) error { return p.clearOwn(ctx, []keytree.Doubt{d}) })
		return
	}
	p.host.Meet(d.ID, p.placeOf(d), d.Past)
}

func (p part) placeOf(d keytree.Doubt) string { return place{by: p.by, score: d.Score}.String() }

// restore rewrites the own record of a member from its counter, in the background.
func (p part) restore(id string) {
	p.host.DB().Soon(func(ctx context.Context) error { return p.catchUp(ctx, p.by, p.when(), []string{id}) })
}

// clear removes the entries that their records do not confirm.
func (p part) clear(ctx context.Context, doubtful []keytree.Doubt) error {
	if p.own {
		return p.clearOwn(ctx, doubtful)
	}
	return kv.Join(kv.Each(ctx, p.host.Store(), doubtful, func(s kv.Store, _ int, d keytree.Doubt) error {
		return p.host.Mend(ctx, s, d.ID, p.placeOf(d), d.Past)
	})...)
}

// clearOwn is clear for members with records of their own. It also removes a member if the model's
// record no longer belongs on the board.
func (p part) clearOwn(ctx context.Context, doubtful []keytree.Doubt) error {
	s, tree, due := p.host.Store(), p.tree(p.by, p.when()), new(keytree.Due)
	defer p.reports.add(due)
	for _, d := range doubtful {
		var err error
		if d.Again != nil {
			err = p.catchUp(ctx, p.by, p.when(), []string{d.ID}) // The counter is more recent than the entry.
		}
		if err == nil {
			err = tree.Set(ctx, s, tree.own, d.ID, p.stay(d.ID), due)
		}
		if err == nil {
			err = tree.Clear(ctx, s, tree.own, d, due)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stay returns a change that removes a member if the model's record no longer belongs on the board.
func (p part) stay(id string) keytree.Change {
	return func(ctx context.Context, s kv.Store, old keytree.State) (keytree.State, error) {
		values, err := p.records(ctx, s, []string{id})
		switch {
		case err != nil:
			return old, err
		case values[0] == nil:
			return keytree.State{}, nil
		}
		return old, old.Broken
	}
}

// pageOf returns one page of the records of p.
func pageOf[T any](ctx context.Context, p *part, cursor string, n int, keep []func(*T) bool) (kvmodel.Listing[T], error) {
	l, next, prev, err := p.page(ctx, cursor, n, plug.Keeps(keep))
	return kvmodel.Listing[T]{Items: itemsOf[T](l.Members), Next: next, Prev: prev}, err
}

// itemsOf returns the records of members.
func itemsOf[T any](members []keytree.Member) []*T {
	items := make([]*T, len(members))
	for i, m := range members {
		items[i] = plug.As[T](m.Value)
	}
	return items
}

// page returns one page of members, each with its record.
func (p part) page(ctx context.Context, cursor string, n int, keep func(plug.Record) bool) (l keytree.Listing, next, prev string, err error) {
	ctx, end := p.host.Begin(ctx, "Page")
	defer end()
	return p.members(ctx, cursor, n, p.want(keep))
}

// members returns one page of members and the cursors after and before it.
func (p part) members(ctx context.Context, cursor string, n int, w keytree.Want) (l keytree.Listing, next, prev string, err error) {
	r, err := p.open(ctx)
	if err != nil {
		return l, "", "", err
	}
	return r.page(ctx, cursor, n, w)
}

// counted returns the number of records in p. verb names the operation.
func (p part) counted(ctx context.Context, verb string) (int, error) {
	ctx, end := p.host.Begin(ctx, verb)
	defer end()
	if err := p.host.Ready(ctx); err != nil || p.gone() {
		return 0, err
	}
	ctx, cancel := p.host.DB().Patient(ctx)
	defer cancel()
	n, err := p.tree(p.by, p.when()).Count(ctx, p.host.Store(), p.between)
	return n, p.failure(err)
}
