package keytree

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// Local is a process's memory of any number of trees.
type Local struct {
	limit int
	lost  atomic.Int64
	queues

	mu      sync.Mutex // never held during a trip
	routers map[string]*router
	bytes   int
	leaves  map[string]seenLeaf
}

// seenLeaf has the stored value because a version would not identify it: a server that lost its
// memory may reuse one.
type seenLeaf struct {
	*leaf
	value []byte
}

const maxLeaves = 512

func NewLocal(limit int) *Local {
	return &Local{limit: limit, routers: make(map[string]*router), queues: queues{of: make(map[string]*queue)}}
}

// router returns the last seen router under key, nil for a leaf. Its counts may be old.
func (l *Local) router(key string) (r *router, seen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, seen = l.routers[key]
	return r, seen
}

// follow returns the number of bits that lead through known routers from root, and whether any node
// is known.
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

// remember keeps r, or nil for a leaf, unless a later state is known.
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

// Lost returns how often this process has found a tree with a lost node.
func (l *Local) Lost() int { return int(l.lost.Load()) }

func (l *Local) Routers() (n, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.routers), l.bytes
}
