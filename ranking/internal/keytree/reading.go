package keytree

import (
	"context"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// reading is what one query has read. Walks answer questions without reading: a
// walk goes as far as the nodes are known, and reports which one it lacks. That
// node is read, with those that are likely to be needed next, and the walk is
// done again.
type reading struct {
	*nodes
	seen  map[string]node
	lost  string          // the key of a node that is lost; "" if none is
	again bool            // a node was made again after it was lost
	gone  map[string]bool // nodes that were missing once
	blind bool            // nothing is known of the tree
	hint  []string        // nodes to read first if nothing is known
	aims  string          // the bits of the point that the query looks for, if any

	trusting bool // entries are taken as they are
}

func (p *nodes) reading() *reading {
	_, known := p.local.router(p.key(""))
	return &reading{nodes: p, seen: make(map[string]node), blind: !known}
}

// look returns the node called name to a walk, or false if the walk must end there.
type look func(name string) (node, bool)

// known looks at what was read.
func (r *reading) known(name string) (node, bool) {
	p, ok := r.seen[name]
	return p, ok
}

// foresight also looks at the routers that the process remembers, and collects the
// names of the nodes to read.
type foresight struct {
	*reading
	wanted []string
}

func (f *foresight) look(name string) (node, bool) {
	if p, ok := f.seen[name]; ok {
		return p, true
	}
	f.wanted = append(f.wanted, name)
	if r, _ := f.local.router(f.key(name)); r != nil {
		return node{router: r}, true
	}
	return node{}, false
}

// read reads the nodes called names.
func (r *reading) read(ctx context.Context, s kv.Store, names []string) error {
	got, err := r.get(ctx, s, names...)
	if err != nil {
		return err
	}
	for i, name := range names {
		if got[i].leaf == nil && got[i].router == nil {
			r.miss(name)
			continue
		}
		r.seen[name] = got[i]
		r.again = r.again || got[i].lost()
	}
	return nil
}

// miss notes that the node called name is missing. A child can be read before it is
// made and its router afterward; one that is missing twice is lost, and counts as
// empty. A node below a leaf is not expected to be there.
func (r *reading) miss(name string) {
	if name != "" && r.seen[parent(name)].router == nil {
		return
	}
	if r.gone[name] {
		r.seen[name] = node{leaf: new(leaf)}
		r.lost = r.key(name)
	}
	if r.gone == nil {
		r.gone = make(map[string]bool)
	}
	r.gone[name] = true
}

// answer repeats walk, and reads what it lacks, until walk returns true: it had
// every node that it needed.
func (r *reading) answer(ctx context.Context, s kv.Store, walk func(look) bool) error {
	for !walk(r.known) {
		if err := r.read(ctx, s, uniq(r.lacking(walk))); err != nil {
			return err
		}
	}
	return nil
}

// answerAll is answer for walks side by side, each to the bits in aims.
func (r *reading) answerAll(ctx context.Context, s kv.Store, walks []func(look) bool, aims []string) error {
	for {
		var names []string
		for i, walk := range walks {
			if !walk(r.known) {
				r.aims = aims[i]
				names = append(names, r.lacking(walk)...)
			}
		}
		if len(names) == 0 {
			return nil
		}
		if err := r.read(ctx, s, uniq(names)); err != nil {
			return err
		}
	}
}

// lacking returns the names of the nodes that walk lacks, and of those that it is likely
// to need next.
func (r *reading) lacking(walk func(look) bool) []string {
	f := &foresight{reading: r}
	walk(f.look)
	return r.widen(f.wanted)
}

// widen adds to the wanted names those that are likely to be needed next. The last
// name is the first of which nothing is known. If it is likely to be a router,
// widen adds the nodes on the way to the aim, or the two levels below.
func (r *reading) widen(names []string) []string {
	last := names[len(names)-1]
	expected := r.expected(last)
	switch {
	case len(last) == r.code.maxBits():
		return names
	case r.hint != nil && r.blind:
		names, r.hint = append(names, r.hint...), nil
		return names
	case r.aims != "" && strings.HasPrefix(r.aims, last) && (r.blind || expected > r.limit):
		return append(names, way(r.aims, last, r.levels(expected))...)
	case !r.blind && expected <= r.limit:
		return names
	}
	children := r.namesBelow([]string{last})
	names = append(names, children...)
	if expected > 4*r.limit {
		names = append(names, r.namesBelow(children)...)
	}
	return names
}

// namesBelow returns the names of the children of the nodes called names.
func (p *nodes) namesBelow(names []string) []string {
	var below []string
	for _, name := range names {
		for i := 0; i < 4 && len(name) < p.code.maxBits(); i++ {
			below = append(below, childName(name, i))
		}
	}
	return below
}

// levels returns how many levels a node with so many members below it is likely to
// have.
func (r *reading) levels(members int) int {
	if r.blind {
		return levelsAhead
	}
	n := 2
	for ; members > r.limit; members /= 3 {
		n++
	}
	return min(n, levelsAhead)
}

func uniq(names []string) []string {
	seen := make(map[string]bool, len(names))
	once := make([]string, 0, len(names))
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			once = append(once, name)
		}
	}
	return once
}
