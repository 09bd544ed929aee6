package keytree

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// Local is a process's memory of any number of trees: known routers, and the edits waiting for each
// node.
type Local struct {
	limit int
	lost  atomic.Int64 // how often a tree had lost a node
	queues
	splitting sync.Map // keys of the nodes whose splits goroutines are finishing

	mu      sync.Mutex // never held during a trip
	routers map[string]*router
	bytes   int
	leaves  map[string]seenLeaf // recently read or written leaves
}

// seenLeaf is a decoded leaf and its value. A version would not identify it: a server that lost its
// memory may reuse a version, and a writer does not know that of its write.
type seenLeaf struct {
	*leaf
	value []byte
}

const maxLeaves = 512

// NewLocal returns a Local that keeps at most limit routers.
func NewLocal(limit int) *Local {
	return &Local{limit: limit, routers: make(map[string]*router), queues: queues{of: make(map[string]*queue)}}
}

// router returns the last seen router under key, nil for a leaf, and whether the node was seen. A
// router stays a router; its counts may be old.
func (l *Local) router(key string) (r *router, seen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, seen = l.routers[key]
	return r, seen
}

// follow returns the number of bits that lead through known routers from root, a key, and whether
// any node is known.
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

const longestKey = 256

// remember keeps r, or nil for a node that is not a router yet, unless a later state is known.
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

// routerBytes is the approximate memory of a router and its map entry, without the key.
const routerBytes = 128 + 40

func (l *Local) leaf(key string, value []byte) *leaf {
	l.mu.Lock()
	seen := l.leaves[key]
	l.mu.Unlock()
	if !bytes.Equal(seen.value, value) {
		return nil
	}
	return seen.leaf
}

func (l *Local) rememberLeaf(key string, p *leaf, value []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leaves == nil || len(l.leaves) == maxLeaves {
		l.leaves = make(map[string]seenLeaf)
	}
	l.leaves[key] = seenLeaf{p, value}
}

// Lost returns how often this process has found that a tree had lost a node.
func (l *Local) Lost() int { return int(l.lost.Load()) }

func (l *Local) Routers() (n, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.routers), l.bytes
}
