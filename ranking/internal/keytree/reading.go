package keytree

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// reading holds the nodes read by one query. Walks answer questions without reading: a walk stops
// at an unknown node. The query reads that node and likely next ones, and repeats the walk.
type reading struct {
	*nodes
	seen  nodeSet
	lost  *lossError
	gone  map[string]bool // missing once
	blind bool            // nothing is known of the tree
	hint  []string        // nodes to read first if blind
	aims  string          // bits of the point that the query looks for

	memory

	toLook look

	trusting bool
}

func (p *nodes) reading() *reading {
	r := &reading{nodes: p}
	r.toLook = r.look
	r.begin()
	return r
}

type readingRoom struct {
	reading
	of nodes
}

var rooms = sync.Pool{New: func() any {
	r := new(readingRoom)
	r.toLook = r.look
	return r
}}

func (r *readingRoom) leave() {
	r.seen.clear()
	*r = readingRoom{reading: reading{toLook: r.toLook, seen: nodeSet{few: r.seen.few}}}
	rooms.Put(r)
}

func (r *reading) begin() {
	_, known := r.local.router(r.root)
	r.blind = !known
}

type nodeSet struct {
	room [1]namedNode
	few  []namedNode // in room while it fits
	many map[string]node
}

const fewNodes = 32

type namedNode struct {
	name string
	node
}

func (s *nodeSet) find(name string) *namedNode {
	for i := range s.few {
		if s.few[i].name == name {
			return &s.few[i]
		}
	}
	return nil
}

func (s *nodeSet) get(name string) (node, bool) {
	if at := s.find(name); at != nil {
		return at.node, true
	}
	p, ok := s.many[name]
	return p, ok
}

func (s *nodeSet) put(name string, p node) {
	at := s.find(name)
	switch {
	case at != nil:
		at.node = p
	case len(s.few) < fewNodes:
		if s.few == nil {
			s.few = s.room[:0]
		} else if len(s.few) == len(s.room) {
			s.few = slices.Grow(s.few, fewNodes/2)
		}
		s.few = append(s.few, namedNode{name, p})
	case s.many == nil:
		s.many = map[string]node{name: p}
	default:
		s.many[name] = p
	}
}

func (s *nodeSet) clear() {
	clear(s.few)
	s.few, s.many = s.few[:0], nil
}

func (s *nodeSet) size() int { return len(s.few) + len(s.many) }

func (s *nodeSet) childName(name string, i int) string {
	for k := range s.few {
		if is := s.few[k].name; len(is) == len(name)+perLevel && child(name, is) == i && strings.HasPrefix(is, name) {
			return is
		}
	}
	return childName(name, i)
}

func (s *nodeSet) router(name string) *router {
	p, _ := s.get(name)
	return p.router
}

// look returns false if the walk must stop at the node.
type look func(name string) (node, bool)

type memory struct {
	store  kv.Memory // nil: none
	prefix string

	inMemory string // key of the root, with the prefix
	asked    [1]kv.NearGet
	told     [1]kv.Result
}

func (m *memory) recall(key string, d kv.Decoder) kv.Result {
	m.asked[0] = kv.NearGet{Key: key, Decode: d}
	if !m.store.Recall(m.asked[:], m.told[:]) {
		return kv.Result{}
	}
	return m.told[0]
}

func (r *reading) look(name string) (node, bool) {
	if p, ok := r.seen.get(name); ok || r.store == nil {
		return p, ok
	}
	key := r.inMemory
	if name != "" {
		key = r.keyBehind(r.prefix, name)
	}
	found := r.recall(key, decodeKept)
	if found.Decoded == nil {
		return node{}, false
	}
	p, err := r.nodeOf(name, key, found)
	if err != nil {
		return node{}, false
	}
	r.seen.put(name, p)
	return p, true
}

type foresight struct {
	*reading
	wanted []string
}

func (f *foresight) look(name string) (node, bool) {
	if p, ok := f.seen.get(name); ok {
		return p, true
	}
	f.wanted = append(f.wanted, name)
	if r, _ := f.local.router(f.key(name)); r != nil {
		return node{router: r}, true
	}
	return node{}, false
}

func (r *reading) read(ctx context.Context, s kv.Store, names []string) error {
	if len(names) == 0 {
		return nil
	}
	got, err := r.get(ctx, s, names...)
	if err != nil {
		return err
	}
	for i, name := range names {
		if got[i].leaf == nil && got[i].router == nil {
			r.miss(name)
			continue
		}
		r.seen.put(name, got[i])
	}
	return nil
}

// A child can be read before it is made and its router afterwards; one that is missing twice is
// lost, and counts as empty. Nodes below a leaf need not exist.
func (r *reading) miss(name string) {
	if name != "" && r.seen.router(parent(name)) == nil {
		return
	}
	if r.gone[name] {
		r.seen.put(name, node{leaf: new(leaf)})
		r.lost = &lossError{r.epoch, name, r.key(name)}
	}
	if r.gone == nil {
		r.gone = make(map[string]bool)
	}
	r.gone[name] = true
}

func (r *reading) answer(ctx context.Context, s kv.Store, walk func(look) bool) error {
	for !walk(r.toLook) {
		if err := r.read(ctx, s, uniq(r.lacking(walk))); err != nil {
			return err
		}
	}
	return nil
}

// answerAll is answer for parallel walks, each to the bits in aims.
func (r *reading) answerAll(ctx context.Context, s kv.Store, walks []func(look) bool, aims []string) error {
	for {
		var names []string
		all := true
		for i, walk := range walks {
			if !walk(r.toLook) {
				r.aims, all = aims[i], false
				names = append(names, r.lacking(walk)...)
			}
		}
		if all {
			return nil
		}
		if err := r.read(ctx, s, uniq(names)); err != nil {
			return err
		}
	}
}

func (r *reading) lacking(walk func(look) bool) []string {
	f := &foresight{reading: r}
	if walk(f.look); len(f.wanted) == 0 {
		return nil
	}
	return r.widen(f.wanted)
}

// widen adds likely next nodes. If the last name, the first unknown node, is likely a router, these
// are the nodes on the path to the aim, or the two levels below.
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

func (p *nodes) namesBelow(names []string) []string {
	var below []string
	for _, name := range names {
		for i := 0; i < 4 && len(name) < p.code.maxBits(); i++ {
			below = append(below, childName(name, i))
		}
	}
	return below
}

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

func (r *reading) expected(name string) int {
	if name == "" {
		return 0
	}
	above := r.seen.router(parent(name))
	if above == nil {
		above, _ = r.local.router(r.key(parent(name)))
	}
	if above == nil {
		return 0
	}
	return above.slots[child(parent(name), name)].members
}
