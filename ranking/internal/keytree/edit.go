package keytree

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// patience is how often an edit looks at a node that another edit is writing, and
// sees no change, before it writes by itself.
const patience = 8

// maxTries bounds how often one edit tries to write a node that others change.
const maxTries = 64

// edit carries out e, possibly in one write with other edits of this process. at,
// if not nil, is the leaf as it was just read. edit adds to due what must be
// reported upward.
func (p *nodes) edit(ctx context.Context, s kv.Store, e *edit, at *spot, due *reports) (err error) {
	defer p.local.quit(e)
	for try, waits := 0, 0; try < maxTries; {
		if at == nil {
			expected, _ := p.guess(p.bits(e.point))
			p.local.join(p.key(expected), e)
			if at, err = p.find(ctx, s, e.point); err != nil {
				return err
			}
		}
		p.local.join(p.key(at.name), e)
		ln, edits := p.local.lead(e, waits < patience)
		if edits == nil {
			if p.local.isDone(e) {
				return nil
			}
			before := at.version
			p.local.looks(e)
			if at, err = p.lookAgain(ctx, s, at.name); err != nil {
				return err
			}
			if waits++; at.version != before {
				waits = 0
			}
			continue
		}
		err = p.apply(ctx, s, at, ln, edits, due)
		at = nil
		switch {
		case errors.Is(err, errRoom):
		case !again(err):
			return err
		default:
			if try++; try > 2 {
				if err := pause(ctx, try); err != nil {
					return err
				}
			}
		}
	}
	return fmt.Errorf("%w: %d tries lost against others", kv.ErrConflict, maxTries)
}

// lookAgain returns the node called name as it is now. It may no longer be a leaf.
func (p *nodes) lookAgain(ctx context.Context, s kv.Store, name string) (*spot, error) {
	got, err := p.get(ctx, s, name)
	if err != nil {
		return nil, err
	}
	return &spot{name, got[0]}, nil
}

// errRoom: the node was split or is being split, so there is room below it.
var errRoom = errors.New("room was made")

// apply writes the leaf at with the first of edits, and as many others as there is
// room for. It returns errAgain if the node has changed, and errRoom if it was
// split or is being split.
func (p *nodes) apply(ctx context.Context, s kv.Store, at *spot, ln *queue, edits []*edit, due *reports) (err error) {
	var took []*edit
	defer func() {
		if err != nil {
			took = nil
		}
		p.local.wrote(ln, took)
	}()
	if at.leaf == nil || at.leaf.splitting {
		return errRoom
	}
	var next *leaf
	next, took, err = p.take(at, at.leaf, edits)
	if err == nil && len(took) < len(edits) {
		next, took, err = p.takeWithRoom(ctx, s, at, edits)
	}
	if err != nil || next == at.leaf {
		return err
	}
	return p.replace(ctx, s, at, next, due)
}

// take applies as many of edits as there is room for to the leaf l, which belongs
// at at. It returns the result, and the edits it applied.
func (p *nodes) take(at *spot, l *leaf, edits []*edit) (next *leaf, took []*edit, err error) {
	next = l
	for _, e := range edits {
		with := next.with(&p.order, e)
		if len(with.entries) > len(next.entries) && with.full(p.limit) && p.splits(at.name) {
			continue
		}
		if with.bytes() > hardBytes {
			return nil, nil, fmt.Errorf("%w: a leaf of a ranking holds %d entries that cannot be separated", kv.ErrTooLarge, len(with.entries))
		}
		next = with
		took = append(took, e)
	}
	return next, took, nil
}

// takeWithRoom removes entries from the leaf at that their records have outlived,
// and then does what take does. If the leaf is still nearly full, it would soon run
// out of room again: takeWithRoom splits it instead and returns errRoom.
func (p *nodes) takeWithRoom(ctx context.Context, s kv.Store, at *spot, edits []*edit) (*leaf, []*edit, error) {
	kept, err := p.purged(ctx, s, at.leaf)
	if err != nil {
		return nil, nil, err
	}
	if len(kept.entries) <= p.limit*3/4 && kept.bytes() <= softBytes*3/4 {
		return p.take(at, kept, edits)
	}
	if err := p.split(ctx, s, at, kept); err != nil {
		return nil, nil, err
	}
	return nil, nil, errRoom
}

// splits reports whether the node called name can be split.
func (p *nodes) splits(name string) bool { return len(name) < maxBits }

// replace writes next, which has other entries, over the leaf at.
func (p *nodes) replace(ctx context.Context, s kv.Store, at *spot, next *leaf, due *reports) error {
	l := *next
	l.seq = at.leaf.seq + 1
	live := l.live()
	switch {
	case at.leaf.closed:
		if err := p.open(ctx, s, at); err != nil {
			return err
		}
		l.closed, l.seq = false, at.leaf.seq+2
	case live == 0 && at.name != "":
		l.closed, l.pushed = true, 0
	}
	reports := l.closed
	if !l.closed {
		l.pushed, reports = p.due(l.pushed, live, leafDrift)
	}
	if err := p.write(ctx, s, at.name, at.node, l.encode()); err != nil {
		return err
	}
	if at.name != "" && reports {
		due.add(report{at.name, slot{l.pushed, l.seq, l.closed}})
	}
	return nil
}

// purged returns l without the stale entries of members that it holds twice, or l
// itself if there are none. A split would put the two into different children,
// where the stale one would be counted for good.
func (p *nodes) purged(ctx context.Context, s kv.Store, l *leaf) (*leaf, error) {
	ids := idsOf(l.doubles())
	if len(ids) == 0 {
		return l, nil
	}
	states, err := p.truth.States(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	kept := l
	for i, id := range ids {
		kept = kept.with(&p.order, &edit{id: id, known: states[i]})
	}
	return kept, nil
}
