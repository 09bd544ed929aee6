package ranking

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// part is one tree of a board, between two scores, in one direction.
type part struct {
	*core
	by      string
	at      time.Time // in the period to read; zero: the current one
	between keytree.Between
	up      bool
}

func (p part) when() time.Time {
	if p.at.IsZero() {
		return p.host.DB().Now()
	}
	return p.at
}

func (p part) gone() bool {
	if p.per == Forever {
		return false
	}
	now := p.host.DB().Now()
	return !p.per.add(p.when(), p.keep).After(now) || p.per.begin(p.when()).After(now)
}

func (p part) reader() *reader { return p.readerOf(p.tree(p.by, p.when()).Tree) }

func (p part) readerOf(tree *keytree.Tree) *reader {
	return &reader{
		tree: tree, db: p.host.DB(), name: p.title, between: p.between, down: !p.up, ranks: p.ranks, ahead: &p.ahead,
	}
}

// Unless open fails, the caller must close the reader.
func (p part) open(ctx context.Context, verb string) (context.Context, *reader, error) {
	ctx, end := p.host.Begin(ctx, verb)
	var tree *keytree.Tree
	if !p.gone() {
		tree = p.tree(p.by, p.when()).Tree
	}
	r := p.readerOf(tree)
	ctx, err := r.begin(ctx, end, p.host.Ready)
	return ctx, r, err
}

func (p part) listing() string {
	name := p.title
	if p.many {
		name += ":" + p.by
	}
	if p.up {
		name += "+"
	}
	return name + "@" + p.per.name(p.when())
}

func (p part) want(keep func(plug.Record) bool) keytree.Want {
	w := keytree.Want{Met: p.met}
	if p.own {
		w.Beside = p.records
		w.Gone = p.restore
	}
	w.Keep = func(m keytree.Member) bool { return m.Value != nil && (keep == nil || keep(m.Value)) }
	return w
}

// records reads the model's records of members with records of their own. A member counts only
// while its model's record belongs on the board.
func (p part) records(ctx context.Context, s kv.Store, ids []string) ([]any, error) {
	recs, err := p.host.SeeMarks(ctx, s, ids...)
	if err != nil {
		return nil, err
	}
	values := make([]any, len(recs))
	for i, rec := range recs {
		if p.stateOf(p.by, rec).In {
			values[i] = rec.Value
		}
	}
	return values, nil
}

func (p part) met(d keytree.Doubt) {
	if p.own {
		p.host.DB().Soon(func(ctx context.Context) error { return p.clearOwn(ctx, []keytree.Doubt{d}) })
		return
	}
	p.host.MendSoon(d.ID, p.placeOf(d), d.Past)
}

func (p part) placeOf(d keytree.Doubt) string { return place{by: p.by, score: d.Score}.String() }

func (p part) restore(id string) {
	p.host.DB().Soon(func(ctx context.Context) error { return p.catchUp(ctx, p.by, p.when(), []string{id}) })
}

func (p part) clear(ctx context.Context, doubtful []keytree.Doubt) error {
	if p.own {
		return p.clearOwn(ctx, doubtful)
	}
	return kv.Join(kv.Each(ctx, p.host.Store(), doubtful, func(s kv.Store, _ int, d keytree.Doubt) error {
		return p.host.Mend(ctx, s, d.ID, p.placeOf(d), d.Past)
	})...)
}

// clearOwn also removes a member if the model's record no longer belongs on the board.
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

func pageOf[T any](ctx context.Context, p *part, cursor string, n int, keep []func(*T) bool) (kvmodel.Listing[T], error) {
	l, next, prev, err := p.members(ctx, "Page", cursor, n, p.want(plug.Keeps(keep)))
	return kvmodel.Listing[T]{Items: itemsOf[T](l.Members), Next: next, Prev: prev}, err
}

func itemsOf[T any](members []keytree.Member) []*T {
	items := make([]*T, len(members))
	for i, m := range members {
		items[i] = plug.As[T](m.Value)
	}
	return items
}

func (p part) members(ctx context.Context, verb, cursor string, n int, w keytree.Want) (l keytree.Listing, next, prev string, err error) {
	ctx, r, err := p.open(ctx, verb)
	if err != nil {
		return l, "", "", err
	}
	defer r.close()
	r.listing = p.listing
	return r.page(ctx, cursor, n, w)
}

func (p part) standing(ctx context.Context, verb, id string) (st keytree.Standing, err error) {
	ctx, r, err := p.open(ctx, verb)
	if err != nil {
		return st, err
	}
	defer r.close()
	if r.tree == nil {
		return st, r.about(id, kv.ErrNotFound)
	}
	st, err = r.tree.Standing(ctx, r.db.Store(), id, r.down, r.ranks)
	return st, r.about(id, err)
}

func (p part) from(ctx context.Context, rank, n int) (found keytree.Part, err error) {
	ctx, r, err := p.open(ctx, "At")
	if err != nil {
		return found, err
	}
	defer r.close()
	if rank < 1 {
		return found, r.failure(fmt.Errorf("%w: rank %d", kvmodel.ErrInvalid, rank))
	}
	if err := plug.CheckPage(r.name, n); err != nil || r.tree == nil {
		return found, err
	}
	r.listing = p.listing
	s, done := r.prefetch(ctx, r.db.Store(), rank-1, n)
	defer done()
	found, err = r.tree.At(ctx, s, rank-1, n, r.down, r.ranks, p.want(nil))
	return found, r.failure(err)
}

func (p part) around(ctx context.Context, id string, n int) (found keytree.Part, err error) {
	ctx, r, err := p.open(ctx, "Around")
	if err != nil {
		return found, err
	}
	defer r.close()
	if err := plug.CheckPage(r.name, n); err != nil {
		return found, err
	}
	if r.tree == nil {
		return found, r.about(id, kv.ErrNotFound)
	}
	found, err = r.tree.Around(ctx, r.db.Store(), id, n, r.down, r.ranks, p.want(nil))
	return found, r.about(id, err)
}

func (p part) numbered(ctx context.Context, page, n int) (found keytree.Part, total int, err error) {
	ctx, r, err := p.open(ctx, "Numbered")
	if err != nil {
		return found, 0, err
	}
	defer r.close()
	if err := plug.CheckNumber(r.name, page, n); err != nil || r.tree == nil {
		return found, 0, err
	}
	r.listing = p.listing
	errs := kv.Together(ctx, r.db.Store(),
		func(s kv.Store) (err error) {
			s, done := r.prefetch(ctx, s, (page-1)*n, n)
			defer done()
			found, err = r.tree.At(ctx, s, (page-1)*n, n, r.down, keytree.Single, p.want(nil))
			return err
		},
		func(s kv.Store) (err error) { total, err = r.tree.Count(ctx, s, r.between); return err },
	)
	return found, total, r.failure(cmp.Or(errs...))
}

func (p part) rankOf(ctx context.Context, score keytree.Score) (int, error) {
	ctx, r, err := p.open(ctx, "RankOf")
	if err != nil {
		return 0, err
	}
	defer r.close()
	if r.tree == nil {
		return 1, nil
	}
	rank, err := r.tree.RankOf(ctx, r.db.Store(), score, r.down, r.ranks)
	return rank, r.failure(err)
}

func (p part) count(ctx context.Context, verb string) (int, error) {
	ctx, r, err := p.open(ctx, verb)
	if err != nil {
		return 0, err
	}
	defer r.close()
	return r.count(ctx)
}

// reader reads one tree in one direction, for a Board or Values.
type reader struct {
	tree    *keytree.Tree // nil: nothing to read
	db      plug.DB
	name    string
	listing func() string // only of one that reads pages
	between keytree.Between
	down    bool
	ranks   keytree.Ranks
	ahead   *ahead.Memory

	cancel context.CancelFunc
	end    func()
}

// end is what Begin returned. Unless begin fails, the caller must close the reader.
func (r *reader) begin(ctx context.Context, end func(), ready func(context.Context) error) (context.Context, error) {
	if err := ready(ctx); err != nil {
		end()
		return ctx, err
	}
	r.end = end
	ctx, r.cancel = r.db.Patient(ctx)
	return ctx, nil
}

func (r *reader) close() {
	r.cancel()
	r.end()
}

func (r *reader) page(ctx context.Context, cursor string, n int, w keytree.Want) (l keytree.Listing, next, prev string, err error) {
	var at []byte
	if err := plug.CheckPage(r.name, n); err != nil {
		return l, "", "", err
	}
	if cursor != "" {
		if at, err = plug.ParseCursor(r.listing(), cursor); err != nil {
			return l, "", "", err
		}
	}
	if r.tree == nil {
		return l, "", "", nil
	}
	s, done := r.db.Store(), func() {}
	if at == nil && r.between == (keytree.Between{}) && !w.Unverified {
		s, done = r.prefetch(ctx, s, 0, n)
	}
	defer done()
	l, err = r.tree.Page(ctx, s, r.between, r.down, at, n, w)
	return l, r.cursor(l.Next), r.cursor(l.Prev), r.failure(err)
}

// prefetch returns a store that prefetches the records of the last such look, until done is called.
func (r *reader) prefetch(ctx context.Context, s kv.Store, before, n int) (_ kv.Store, done func()) {
	one := r.ahead.Store(ctx, s, func() ahead.Look {
		listing := r.listing()
		if before > 0 {
			listing += "#" + strconv.Itoa(before)
		}
		return ahead.Look{Listing: listing, N: n}
	})
	return one, one.Remember
}

func (r *reader) cursor(at []byte) string {
	if at == nil {
		return ""
	}
	return plug.Cursor(r.listing(), at)
}

func (r *reader) count(ctx context.Context) (int, error) {
	if r.tree == nil {
		return 0, nil
	}
	n, err := r.tree.Count(ctx, r.db.Store(), r.between)
	return n, r.failure(err)
}

func (r *reader) verify(ctx context.Context, ids []string) (Report, error) {
	found, err := r.tree.Verify(ctx, r.db.Store(), ids)
	return Report(found.Findings), r.failure(err)
}

func (r *reader) mend(ctx context.Context, ids []string, lost uint64, clear func(context.Context, []keytree.Doubt) error) (Report, error) {
	if err := r.db.Writable(); err != nil {
		return Report{}, r.failure(err)
	}
	found, err := r.tree.Mend(ctx, r.db.Store(), ids, lost, clear)
	if err == nil && !r.tree.Lost() {
		err = r.tree.Refresh(ctx, r.db.Store())
	}
	return Report(found.Findings), r.failure(err)
}

func (r *reader) refresh(ctx context.Context) error {
	if err := r.db.Writable(); err != nil {
		return r.failure(err)
	}
	return r.failure(r.tree.Refresh(ctx, r.db.Store()))
}

func (r *reader) rebuild(ctx context.Context, ids []string, lost uint64) error {
	if err := r.db.Writable(); err != nil {
		return r.failure(err)
	}
	return r.failure(r.tree.Rebuild(ctx, r.db.Store(), ids, lost))
}

func (r *reader) stats() Stats {
	n, bytes := r.tree.Local.Routers()
	return Stats{n, bytes, r.tree.Local.Lost()}
}

func (r *reader) failure(err error) error { return named(r.name, err) }

func (r *reader) about(id string, err error) error {
	if err == nil {
		return nil
	}
	return r.failure(fmt.Errorf("%.100q: %w", id, err))
}

func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}
