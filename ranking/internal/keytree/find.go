package keytree

import (
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// spot is a leaf with its name, as it was found.
type spot struct {
	name string
	node // its leaf is not nil
}

// ahead is how many levels a process that knows nothing of the tree reads at once.
const ahead = 15

// guess returns the name of the first node on the way of bits that is not known to
// be a router, and reports whether anything is known at all.
func (p *nodes) guess(bits string) (name string, known bool) {
	for {
		r, seen := p.local.router(p.key(name))
		if r == nil || len(name) == maxBits {
			return name, seen || name != ""
		}
		name = bits[:len(name)+perLevel]
	}
}

// find returns the leaf in which target belongs. It takes one trip if the way is
// known, or if nothing is. Otherwise it reads more nodes at once with each trip, in
// case many on the way were split.
func (p *nodes) find(ctx context.Context, s kv.Store, target point) (*spot, error) {
	bits := p.bits(target)
	name, known := p.guess(bits)
	width := 1
	if !known {
		width = ahead
	}
	for missing := 0; ; width *= 2 {
		names := way(bits, name, width)
		got, err := p.get(ctx, s, names...)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(got, func(nd node) bool { return nd.router == nil })
		if at < 0 {
			name = bits[:len(names[len(names)-1])+perLevel]
			continue
		}
		name = names[at]
		switch found := got[at]; {
		case found.leaf == nil:
			// A child can be missing because it was read before it was made, or
			// because its router was made in a transaction that was rolled back.
			if missing++; missing > 1 {
				err = p.remake(ctx, s, name, found)
			}
			p.local.forget(p.keys(path(name)))
			name = ""
		case found.leaf.splitting:
			err = p.finishSplit(ctx, s, name, found)
		default:
			return &spot{name, found}, nil
		}
		if err != nil && !again(err) {
			return nil, err
		}
		width = 1
	}
}

// way returns the names of width nodes on the way of bits, from name down.
func way(bits, name string, width int) []string {
	names := []string{name}
	for n := len(name) + perLevel; n <= maxBits && len(names) < width; n += perLevel {
		names = append(names, bits[:n])
	}
	return names
}

// errRootLost: the root is missing, and with it everything in the tree.
var errRootLost = errors.New("the root of a ranking is lost")

// remake makes a node again that the store has lost, as an empty closed leaf, so
// that the next insert opens the way to it. What was below it is missing from the
// tree until it is inserted again.
func (p *nodes) remake(ctx context.Context, s kv.Store, name string, gone node) error {
	if name == "" {
		return errRootLost
	}
	above, err := p.get(ctx, s, parent(name))
	if err != nil {
		return err
	}
	if above[0].router == nil {
		return errAgain
	}
	l := &leaf{lost: true, closed: true, seq: above[0].router.slots[child(parent(name), name)].seq + 1}
	p.local.lose()
	return p.write(ctx, s, name, gone, l.encode())
}
