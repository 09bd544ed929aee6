package keytree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// patience is how often an edit rereads an unchanged node that another edit is writing, before it
// writes by itself.
const patience = 8

const maxTries = 64

// edit carries out edits, one write per leaf, possibly with other edits of this process. at, if not
// nil, holds their leaves, freshly read. A failed edit has an err and does not affect the others.
func (p *nodes) edit(ctx context.Context, s kv.Store, edits []*edit, at []*spot, due *reports) {
	if len(edits) == 0 {
		return
	}
	if inside(s) {
		p.editInside(ctx, s, edits, due)
		return
	}
	defer p.local.quit(edits)
	if at == nil {
		p.editAt(ctx, s, edits, nil, 0, due)
		return
	}
	p.editEach(ctx, s, groups(edits, at), 0, due)
}

func (p *nodes) editOne(ctx context.Context, s kv.Store, e *edit, due *reports) error {
	p.edit(ctx, s, []*edit{e}, nil, due)
	return e.err
}

func failure(edits []*edit) error {
	i := slices.IndexFunc(edits, func(e *edit) bool { return e.err != nil })
	if i < 0 {
		return nil
	}
	return edits[i].err
}

func (p *nodes) editEach(ctx context.Context, s kv.Store, groups []group, try int, due *reports) {
	kv.Each(ctx, s, groups, func(s kv.Store, _ int, g group) error {
		p.editAt(ctx, s, g.edits, g.at, try, due)
		return nil
	})
}

func (p *nodes) editAt(ctx context.Context, s kv.Store, edits []*edit, at *spot, try int, due *reports) {
	var err error
	for waits := 0; len(edits) > 0 && try < maxTries; edits = p.local.undone(edits) {
		if at == nil {
			var found []group
			if found, err = p.spread(ctx, s, edits); err != nil {
				break
			}
			if len(found) > 1 {
				p.editEach(ctx, s, found, try, due)
				return
			}
			at = found[0].at
		}
		p.local.join(p.key(at.name), edits)
		ln, all := p.local.lead(edits, waits < patience, p.tooLate)
		if all == nil {
			if edits = p.local.undone(edits); len(edits) == 0 {
				return
			}
			before := at.version
			p.local.looks(edits)
			if at, err = p.lookAgain(ctx, s, at.name); err != nil {
				break
			}
			if waits++; at.version != before {
				waits = 0
			}
			continue
		}
		err = p.apply(ctx, s, at, ln, all, due)
		at = nil
		if again(err) {
			try++
			if err = nil; try > 2 {
				err = pause(ctx, s, try)
			}
		}
		if err != nil && !errors.Is(err, errRoom) {
			break
		}
	}
	p.fail(edits, cmp.Or(err, fmt.Errorf("%w: gave up after %d tries", kv.ErrConflict, maxTries)))
}

func (p *nodes) tooLate(e *edit) bool { return p.tooLong(e.began) }

func (p *nodes) fail(edits []*edit, err error) {
	for _, e := range p.local.undone(edits) {
		e.err = err
	}
}

type group struct {
	at    *spot
	edits []*edit
}

func (p *nodes) spread(ctx context.Context, s kv.Store, edits []*edit) ([]group, error) {
	for name, some := range grouped(edits, func(i int) string {
		expected, _ := p.guess(edits[i].bits)
		return expected
	}) {
		p.local.join(p.key(name), some)
	}
	spots, err := p.find(ctx, s, edits)
	if err != nil {
		return nil, err
	}
	return groups(edits, spots), nil
}

func groups(edits []*edit, spots []*spot) []group {
	if len(edits) == 1 {
		return []group{{spots[0], edits}}
	}
	at := make(map[string]*spot)
	for _, sp := range spots {
		at[sp.name] = sp
	}
	byName := grouped(edits, func(i int) string { return spots[i].name })
	var all []group
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, group{at[name], byName[name]})
	}
	return all
}

func grouped(edits []*edit, name func(i int) string) map[string][]*edit {
	by := make(map[string][]*edit)
	for i, e := range edits {
		by[name(i)] = append(by[name(i)], e)
	}
	return by
}

func (p *nodes) lookAgain(ctx context.Context, s kv.Store, name string) (*spot, error) {
	got, err := p.get(ctx, s, name)
	if err != nil {
		return nil, err
	}
	return &spot{name, got[0]}, nil
}

// errRoom: the node was split, which makes room below it.
var errRoom = errors.New("room was made")

func (p *nodes) apply(ctx context.Context, s kv.Store, at *spot, ln *queue, edits []*edit, due *reports) (err error) {
	var next *leaf
	var took []*edit
	defer func() { p.local.wrote(ln, took, next) }()
	next, took, err = p.enter(ctx, s, at, edits, due)
	return err
}

// enter writes the leaf at with the first of edits, and as many others as fit.
func (p *nodes) enter(ctx context.Context, s kv.Store, at *spot, edits []*edit, due *reports) (next *leaf, took []*edit, err error) {
	if at.leaf == nil || at.leaf.splitting {
		return nil, nil, errRoom
	}
	next, took, err = p.take(at.leaf, edits, func(l *leaf) bool { return !l.full(p.limit) || !p.splits(at.name) })
	switch {
	case err != nil:
	case len(took) < len(edits):
		next, took, err = p.takeWithRoom(ctx, s, at, edits, due)
	case next != at.leaf:
		_, err = p.replace(ctx, s, at, next, due)
	}
	if err != nil {
		took = nil
	}
	return next, took, err
}

func (p *nodes) take(l *leaf, edits []*edit, fits func(*leaf) bool) (next *leaf, took []*edit, err error) {
	next = l
	var spare, used []entry // used holds the entries of next, unless next is l
	for _, e := range edits {
		if spare == nil {
			spare = entryRoom(len(l.entries) + len(edits))
		}
		with := next.with(&p.order, e, spare)
		if len(with.entries) > len(next.entries) && !fits(with) {
			continue
		}
		if with.bytes() > hardBytes {
			return nil, nil, fmt.Errorf("%w: a leaf of a ranking holds %d entries that cannot be separated", kv.ErrTooLarge, len(with.entries))
		}
		if with != next {
			spare, used = used, spare
		}
		next = with
		took = append(took, e)
	}
	if spare != nil {
		clear(spare[:cap(spare)])
		entryRooms.Put(&spare)
	}
	return next, took, nil
}

// entryRooms has memory for entries that no leaf uses.
var entryRooms sync.Pool

func entryRoom(n int) []entry {
	if room, ok := entryRooms.Get().(*[]entry); ok && cap(*room) >= n {
		return (*room)[:0]
	}
	return make([]entry, 0, n)
}

// with returns l itself if e changes nothing. The result may use room, which must not overlap with
// the entries of l.
func (l *leaf) with(o *order, e *edit, room []entry) *leaf {
	if e.put != nil && !(e.restores && l.has(e.put.score, e.id)) {
		l = l.added(o, e.point, *e.put, room)
	}
	if e.known != nil {
		l = l.tidied(e.id, *e.known, room)
	}
	return l
}

// takeWithRoom removes stale entries. If that does not leave room for a while, it splits the leaf,
// with as many edits as a splitting node may hold.
func (p *nodes) takeWithRoom(ctx context.Context, s kv.Store, at *spot, edits []*edit, due *reports) (next *leaf, took []*edit, err error) {
	kept, err := p.purged(ctx, s, at.leaf)
	if err != nil {
		return nil, nil, err
	}
	if len(kept.entries) <= p.limit*3/4 && kept.bytes() <= softBytes*3/4 {
		next, took, err = p.take(kept, edits, func(l *leaf) bool { return !l.full(p.limit) })
		if err != nil {
			return nil, nil, err
		}
		if len(took) == len(edits) {
			_, err = p.replace(ctx, s, at, next, due)
			return next, took, err
		}
	}
	next, took, err = p.take(kept, edits, func(l *leaf) bool { return l.bytes() <= frozenBytes })
	if err != nil {
		return nil, nil, err
	}
	return next, took, p.split(ctx, s, at, next, due)
}

// split freezes the leaf at, so that no entry is added that the nodes below do not get. Then any
// process can do the rest.
func (p *nodes) split(ctx context.Context, s kv.Store, at *spot, kept *leaf, due *reports) error {
	whole := *kept
	whole.splitting = true
	frozen, err := p.replace(ctx, s, at, &whole, due)
	if err != nil {
		return err
	}
	_ = p.finishSplit(ctx, s, at.name, node{leaf: frozen}, false)
	return nil
}

func (p *nodes) replace(ctx context.Context, s kv.Store, at *spot, next *leaf, due *reports) (*leaf, error) {
	l := *next
	l.seq = at.leaf.seq + 1
	live := p.live(&l)
	if l.splitting {
		// After the split, entries of one member may count in several leaves.
		r, _ := p.below(at.name, &l)
		live = p.total(at.name, r)
	}
	switch {
	case at.leaf.closed:
		if err := p.open(ctx, s, at); err != nil {
			return nil, err
		}
		l.closed, l.seq = false, at.leaf.seq+2
	case len(l.entries) == 0 && at.name != "" && !l.splitting:
		l.closed, l.pushed = true, tally{}
	}
	reports := l.closed
	if !l.closed {
		l.pushed, reports = p.due(l.pushed, live, p.leafAllows)
	}
	room := leafRooms.Get().(*[]byte)
	defer leafRooms.Put(room)
	*room = l.encode((*room)[:0])
	key := p.key(at.name)
	if err := p.write(ctx, s, key, at.node, *room); err != nil {
		if errors.Is(err, errUnsure) {
			due.doubt(at.name)
		}
		return nil, err
	}
	p.local.rememberLeaf(key, &l, *room)
	if at.name != "" && reports {
		due.add(report{at.name, slot{l.pushed, l.seq, l.closed}})
	}
	return &l, nil
}

// purged tidies members with several entries: in different leaves, a stale one would count until a
// query finds it.
func (p *nodes) purged(ctx context.Context, s kv.Store, l *leaf) (*leaf, error) {
	ids := l.repeated()
	if len(ids) == 0 {
		return l, nil
	}
	states, err := p.truth.States(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	kept := l
	for i, id := range ids {
		kept = kept.tidied(id, states[i], nil)
	}
	return kept, nil
}
