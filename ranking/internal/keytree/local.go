package keytree

import (
	"sync"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Local is what a process remembers of any number of trees between its calls:
// which nodes are routers, and which edits wait for a node.
type Local struct {
	limit int

	mu      sync.Mutex // never held during a trip
	routers map[string]*router
	bytes   int
	lost    int // how often a tree had lost a node
	queues  map[string]*queue
	leaves  map[string]seenLeaf // the last that were read; leaves do not change
}

// seenLeaf is a leaf and the checksum of what it was decoded from: a server that has lost
// its memory may give a version to something else.
type seenLeaf struct {
	node
	sum uint32
}

// maxLeaves is how many decoded leaves are remembered at most.
const maxLeaves = 512

// NewLocal returns a Local that remembers at most limit routers.
func NewLocal(limit int) *Local {
	return &Local{limit: limit, routers: make(map[string]*router), queues: make(map[string]*queue)}
}

// router returns the router under key as it was last seen, nil if it was not a
// router, and whether it was seen at all. A router stays a router; its counts may
// be old.
func (l *Local) router(key string) (r *router, seen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, seen = l.routers[key]
	return r, seen
}

// follow returns how many of bits, which are of that code, lead through known routers from
// the root with that key, and reports whether anything is known at all.
func (l *Local) follow(c Code, root, bits string) (n int, known bool) {
	var room [longestKey]byte
	key := append(room[:0], root...)
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		r, seen := l.routers[string(c.appendName(key, bits[:n]))]
		if r == nil || n == len(bits) {
			return n, seen || n > 0
		}
		n += perLevel
	}
}

// longestKey is room for the key of a node.
const longestKey = 256

// remember keeps r, nil for a node that is not a router yet, unless a later state
// of the node is known.
func (l *Local) remember(key string, r *router) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old, seen := l.routers[key]
	switch {
	case old != nil && (r == nil || old.seq > r.seq):
		return
	case !seen:
		l.makeRoom()
		l.bytes += routerBytes + len(key)
	}
	l.routers[key] = r
}

// forget drops what is known of the nodes under keys.
func (l *Local) forget(keys []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		if _, seen := l.routers[key]; seen {
			delete(l.routers, key)
			l.bytes -= routerBytes + len(key)
		}
	}
}

func (l *Local) makeRoom() {
	for key := range l.routers {
		if len(l.routers) < l.limit {
			return
		}
		delete(l.routers, key)
		l.bytes -= routerBytes + len(key)
	}
}

// routerBytes is about what a router takes in memory, besides its key: itself, and
// its entry in the map.
const routerBytes = 128 + 40

// leaf returns what was decoded from a version of the node under key, a leaf, with that
// checksum.
func (l *Local) leaf(key string, version kv.Version, sum uint32) (p node, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := l.leaves[key]
	return seen.node, seen.leaf != nil && seen.version == version && seen.sum == sum
}

// rememberLeaf keeps p, a leaf that was decoded from what has that checksum.
func (l *Local) rememberLeaf(key string, p node, sum uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leaves == nil || len(l.leaves) == maxLeaves {
		l.leaves = make(map[string]seenLeaf)
	}
	l.leaves[key] = seenLeaf{p, sum}
}

// lose counts a tree that has lost a node.
func (l *Local) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost++
}

// Lost returns how often this process has found that a tree had lost a node.
func (l *Local) Lost() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Routers returns how many routers are remembered, and about how many bytes of
// memory they take.
func (l *Local) Routers() (n, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.routers), l.bytes
}
