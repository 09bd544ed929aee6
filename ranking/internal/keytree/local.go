package keytree

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Local is a process's memory of any number of trees.
type Local struct {
	limit int
	lost  atomic.Int64
	queues
	splitting sync.Map // keys of the nodes whose splits goroutines are finishing

	mu      sync.Mutex // never held during a trip
	routers map[string]*router
	bytes   int
	leaves  map[string]seenLeaf
}

// seenLeaf has the hash of the stored value because a version would not identify it: a server that
// lost its memory may reuse one.
type seenLeaf struct {
	*leaf
	hash uint64
}

const maxLeaves = 512

func NewLocal(limit int) *Local {
	return &Local{limit: limit, routers: make(map[string]*router), queues: queues{of: make(map[string]*queue)}}
}

// router returns nil for a leaf. Counts may be old.
func (l *Local) router(key string) (r *router, seen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, seen = l.routers[key]
	return r, seen
}

// follow returns the number of bits that lead through known routers, and whether any node is known.
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

// remember keeps r, nil for a leaf, unless a later state is known.
func (l *Local) remember(key string, r *router) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old, seen := l.routers[key]
	switch {
	case old != nil && (r == nil || old.seq > r.seq):
		return
	case !seen:
		l.makeRoom()
		key = strings.Clone(key) // It may share the memory of others.
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
	if seen.leaf == nil || seen.hash != maphash.Bytes(hashes, value) {
		return nil
	}
	return seen.leaf
}

func (l *Local) rememberLeaf(key string, p *leaf, value []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, seen := l.leaves[key]; !seen {
		if l.leaves == nil || len(l.leaves) == maxLeaves {
			l.leaves = make(map[string]seenLeaf)
		}
		key = strings.Clone(key)
	}
	l.leaves[key] = seenLeaf{p, maphash.Bytes(hashes, value)}
}

func (l *Local) Lost() int { return int(l.lost.Load()) }

func (l *Local) Routers() (n, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.routers), l.bytes
}

type edit struct {
	point point
	bits  string
	id    string

	put   *entry
	known *State // the record's state
	err   error

	restores bool // add put only if the member has no entry there

	// began is the time of the operation, or of the read of the record that the edit relies on.
	// Long after that, no other operation writes the edit along: it would bring back the entry of a
	// record that has changed since.
	began time.Time

	// Guarded by the mutex of the queues:
	queue *queue
	seen  int // the queue's writes at the last read of the node
	done  bool

	absent bool // the written leaf lacks the entry that known calls for
}

func (e *edit) misses(l *leaf) bool {
	return e.known != nil && e.known.In && e.known.Score == e.point.score && !l.has(e.point.score, e.id)
}

// queue holds the edits of one node that wait in a process to be written together; one by one, each
// write would make the others fail once. It only saves work: after a long wait an edit writes by
// itself.
type queue struct {
	key     string
	waiting []*edit
	busy    bool
	writes  int
}

type queues struct {
	mu sync.Mutex
	of map[string]*queue
}

func (q *queues) join(key string, edits []*edit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	edits = slices.DeleteFunc(slices.Clone(edits), func(e *edit) bool { return e.queue != nil && e.queue.key == key })
	q.leave(edits)
	for _, e := range edits {
		if e.done {
			continue
		}
		if q.of[key] == nil {
			q.of[key] = &queue{key: key}
		}
		e.queue = q.of[key]
		e.queue.waiting = append(e.queue.waiting, e)
		e.seen = e.queue.writes
	}
}

func (q *queues) looks(edits []*edit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range edits {
		if e.queue != nil {
			e.seen = e.queue.writes
		}
	}
}

func (q *queues) quit(edits []*edit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leave(edits)
}

func (q *queues) leave(edits []*edit) {
	var left []*queue
	for _, e := range edits {
		if e.queue != nil && !slices.Contains(left, e.queue) {
			left = append(left, e.queue)
		}
		e.queue = nil
	}
	for _, ln := range left {
		ln.waiting = slices.DeleteFunc(ln.waiting, func(w *edit) bool { return w.queue != ln })
		q.close(ln)
	}
}

func (q *queues) close(ln *queue) {
	if len(ln.waiting) == 0 && !ln.busy && q.of[ln.key] == ln {
		delete(q.of, ln.key)
	}
}

// lead begins a write of the first unwritten one of edits and of all waiting ones that are not
// late. It returns none if all edits are written, if another write has ended since the owner of
// edits read the node, or, with patient, if one is running.
func (q *queues) lead(edits []*edit, patient bool, late func(*edit) bool) (*queue, []*edit) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(edits, func(e *edit) bool { return !e.done })
	if i < 0 {
		return nil, nil
	}
	first, ln := edits[i], edits[i].queue
	if ln.busy && patient || ln.writes != first.seen {
		return nil, nil
	}
	ln.busy = true
	others := slices.DeleteFunc(slices.Clone(ln.waiting), func(w *edit) bool { return w == first || late(w) })
	return ln, append([]*edit{first}, others...)
}

func (q *queues) wrote(ln *queue, written []*edit, next *leaf) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ln.busy = false
	if len(written) > 0 {
		ln.writes++
	}
	for _, w := range written {
		if !w.done {
			w.done, w.absent = true, w.misses(next)
		}
	}
	q.leave(slices.DeleteFunc(slices.Clone(written), func(w *edit) bool { return w.queue != ln }))
	q.close(ln)
}

func (q *queues) undone(edits []*edit) []*edit {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(edits), func(e *edit) bool { return e.done })
}
