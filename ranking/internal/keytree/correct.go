package keytree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// report is the new slot of a node in the router above it. Counts are absolute and carry a sequence
// number, so a repeated, late or lost report does no lasting harm.
type report struct {
	name string
	slot slot
}

type update struct {
	name   string
	key    string // "": not read
	family []report
	one    [1]report // room for most families
	known  bool
	old    node
	next   *router
	up     bool // report next to the router above
	done   bool // the family is in the written router
}

const routerSize = 64 // of most encoded ones

func (p *nodes) update(ctx context.Context, s kv.Store, updates []*update) []error {
	errs := make([]error, len(updates))
	ops := opRooms.Get().(*opRoom)
	defer ops.leave()
	changed, values := make([]int, 0, len(updates)), make([]byte, 0, routerSize*len(updates))
	for i, t := range updates {
		switch {
		case t.next == nil:
		case p.late():
			errs[i] = errLate
		default:
			if t.key == "" {
				t.key = p.key(t.name)
			}
			begin := len(values)
			values = t.next.encode(values)
			ops.all, changed = append(ops.all, p.put(t.key, t.old, slices.Clip(values[begin:]))), append(changed, i)
		}
	}
	if len(changed) == 0 {
		return errs
	}
	_ = s.Do(ctx, ops.all)
	for k, i := range changed {
		if errs[i] = refused(ctx, ops.all[k].Err()); errs[i] == nil {
			p.local.remember(updates[i].key, updates[i].next)
		}
	}
	return errs
}

// opRooms has the memory of ops, which a store does not retain.
var opRooms = sync.Pool{New: func() any { return new(opRoom) }}

type opRoom struct{ all []kv.Op }

func (r *opRoom) leave() {
	clear(r.all)
	r.all = r.all[:0]
	opRooms.Put(r)
}

// After a report that may be lost, a count stays wrong until the next one. So correct sets each
// slot on the path to the count below it.

const correctTries = 8

const correctedAtOnce = 64

// correct skips a large tree, whose counts are never exact for long. ErrConflict: others keep
// changing the paths.
func (p *nodes) correct(ctx context.Context, s kv.Store, names []string) error {
	for some := range slices.Chunk(names, correctedAtOnce) {
		if err := p.correctSome(ctx, s, some); err != nil {
			return err
		}
	}
	return nil
}

func (p *nodes) correctSome(ctx context.Context, s kv.Store, names []string) error {
	ways, fence := make(map[string]bool), make(map[string]bool)
	for _, name := range names {
		for ways[name], fence[name] = true, true; name != ""; {
			name = parent(name)
			ways[name] = true
		}
	}
	for try := range correctTries {
		exact, err := p.correctOnce(ctx, s, ways, fence)
		if exact || err != nil && !again(err) {
			return err
		}
		if try == 0 {
			continue // to check the writes
		}
		if err := pause(ctx, s, try); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: the counts of a ranking are changing", kv.ErrConflict)
}

// correctOnce rewrites the routers in ways with wrong counts. Those in fence are written in any
// case, once: an earlier write of an outdated count may still be on its way.
func (p *nodes) correctOnce(ctx context.Context, s kv.Store, ways, fence map[string]bool) (exact bool, err error) {
	read, err := p.readAround(ctx, s, ways)
	if err != nil || read[""].router == nil {
		return err == nil, err
	}
	large := read[""].router.members() > p.small
	var wrong []*update
	// Bottom up, so that a router gets the corrected totals of its children.
	for _, name := range slices.SortedFunc(maps.Keys(ways), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		nd := read[name]
		if nd.router == nil {
			continue
		}
		next := nd.router
		if !large {
			next = p.corrected(name, nd.router, func(i int) node { return read[childName(name, i)] })
		}
		if next == nd.router && !fence[name] {
			continue
		}
		wrong = append(wrong, &update{name: name, old: nd, next: next})
		read[name] = node{router: next}
	}
	errs := p.update(ctx, s, wrong)
	for i, t := range wrong {
		fence[t.name] = errors.Is(errs[i], errUnsure) || fence[t.name] && errs[i] != nil
	}
	return len(wrong) == 0, kv.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil || again(err) })...)
}

func (p *nodes) readAround(ctx context.Context, s kv.Store, around map[string]bool) (map[string]node, error) {
	names := slices.Sorted(maps.Keys(around))
	names = uniq(append(names, p.namesBelow(names)...))
	got, err := p.get(ctx, s, names...)
	if err != nil {
		return nil, err
	}
	read := make(map[string]node, len(names))
	for i, name := range names {
		if got[i].leaf != nil && got[i].leaf.splitting {
			return nil, cmp.Or(p.finishSplit(ctx, s, name, got[i], false), errAgain)
		}
		read[name] = got[i]
	}
	return read, nil
}

func (p *nodes) corrected(name string, r *router, below func(i int) node) *router {
	next := *r
	for i := range next.slots {
		nd, at := below(i), &next.slots[i]
		now := slot{seq: nd.seq(), closed: nd.closed()}
		switch {
		case nd.leaf != nil:
			now.tally = p.live(nd.leaf)
		case nd.router != nil:
			now.tally = p.total(childName(name, i), nd.router)
		default:
			continue // It is lost, and its count unknown.
		}
		if now.tally != at.tally || now.closed != at.closed {
			*at = at.after(now)
		}
	}
	if next == *r {
		return r
	}
	next.pushed, next.seq = p.total(name, &next), next.seq+1
	return &next
}

// A slot with a later sequence number keeps it; a slot just opened for a coming insert stays open.
func (s slot) after(now slot) slot {
	switch {
	case now.seq > s.seq:
		return now
	case now.seq+1 >= s.seq:
		s.tally = now.tally
	}
	return s
}

const sideBySide = 64 * entryLimit / 2

// Refresh makes the counts of all routers exact, unless the tree changes meanwhile.
func (t *Tree) Refresh(ctx context.Context, s kv.Store) error {
	ep, err := t.epochs(ctx, s, false)
	if err != nil || ep.read == nil {
		return err
	}
	if ep.lost {
		return t.errLost("a part")
	}
	p := *ep.read
	p.began = time.Time{}
	_, err = p.refresh(ctx, s, "")
	return err
}

func (p *nodes) refresh(ctx context.Context, s kv.Store, name string) (slot, error) {
	got, err := p.get(ctx, s, name)
	if err != nil {
		return slot{}, err
	}
	switch {
	case got[0].leaf != nil:
		return slot{p.live(got[0].leaf), got[0].leaf.seq, got[0].leaf.closed}, nil
	case got[0].router == nil:
		return slot{}, &lossError{p.epoch, name, p.key(name)}
	}
	below, err := p.refreshBelow(ctx, s, name, got[0].router)
	if err != nil {
		return slot{}, err
	}
	for range reportTries {
		next := p.refreshed(name, got[0].router, below)
		own := slot{next.pushed, next.seq, next.closed}
		if *next == *got[0].router {
			return own, nil
		}
		next.seq++
		own.seq++
		err := p.writeRouter(ctx, s, name, got[0], next)
		if err == nil || !again(err) {
			return own, err
		}
		if got, err = p.get(ctx, s, name); err != nil || got[0].router == nil {
			return slot{}, err
		}
	}
	return slot{}, nil
}

func (p *nodes) refreshBelow(ctx context.Context, s kv.Store, name string, r *router) (below [4]slot, err error) {
	err = r.eachBelow(ctx, s, func(s kv.Store, i int, at slot) (err error) {
		if below[i] = at; !at.closed {
			below[i], err = p.refresh(ctx, s, childName(name, i))
		}
		return err
	})
	return below, err
}

func (r *router) eachBelow(ctx context.Context, s kv.Store, work func(s kv.Store, i int, at slot) error) error {
	if r.members() <= sideBySide {
		return each(ctx, s, r.slots[:], work)
	}
	for i, at := range r.slots {
		if err := work(s, i, at); err != nil {
			return err
		}
	}
	return nil
}

func (p *nodes) refreshed(name string, r *router, below [4]slot) *router {
	next := *r
	for i, now := range below {
		next.slots[i] = next.slots[i].after(now)
	}
	next.pushed = p.total(name, &next)
	return &next
}
