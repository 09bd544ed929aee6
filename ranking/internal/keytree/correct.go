package keytree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// report is the new slot of a node in the router above it. Counts are absolute and carry the node's
// sequence number, so a repeated, late or lost report does no lasting harm.
type report struct {
	name string // of the node
	slot slot
}

type update struct {
	name   string
	family []report // reports of children
	known  bool     // the router is known; otherwise the update waits
	old    node
	next   *router // after the update; nil: not a router, or no change
	up     bool    // next must be reported to the router above
}

func (p *nodes) update(ctx context.Context, s kv.Store, updates []*update) []error {
	errs := make([]error, len(updates))
	var ops []kv.Op
	var changed []int
	for i, t := range updates {
		switch {
		case t.next == nil:
		case p.late():
			errs[i] = errLate
		default:
			ops, changed = append(ops, p.put(t.name, t.old, t.next.encode())), append(changed, i)
		}
	}
	if len(ops) == 0 {
		return errs
	}
	// Each op has its own error.
	_ = s.Do(ctx, ops)
	for k, i := range changed {
		if errs[i] = refused(ctx, ops[k].Err()); errs[i] == nil {
			p.local.remember(ops[k].Key, updates[i].next)
		}
	}
	return errs
}

// After a lost report, or one that may be lost, a count stays wrong until the next report. In a
// small tree, whose counts are exact, correct therefore reads the path to the node and sets each
// slot to the count of the node below it.

const correctTries = 8

const correctedAtOnce = 64

// correct makes the counts on the paths to the named nodes exact. It skips a large tree, whose
// counts are never exact for long. ErrConflict: others keep changing the paths.
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
			continue // Read once more to check the writes.
		}
		if err := pause(ctx, s, try); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: the counts of a ranking are changing", kv.ErrConflict)
}

// correctOnce reads the routers in ways with their children, and rewrites those with wrong counts.
// It reports whether all were right. Routers in fence are written in any case, once: an earlier
// write of an outdated count may still be on its way.
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

// readAround reads the named nodes and their children, and finishes running splits among them.
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

// corrected returns r with the counts of its children, or r itself if they are right.
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

// after returns the slot s after reading its node in state now. A slot with a later sequence number
// keeps it; a slot just opened for a coming insert stays open.
func (s slot) after(now slot) slot {
	switch {
	case now.seq > s.seq:
		return now
	case now.seq+1 >= s.seq:
		s.tally = now.tally
	}
	return s
}
