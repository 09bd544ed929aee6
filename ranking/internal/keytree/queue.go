package keytree

import "slices"

// queue holds the edits of one node that wait in a process to go out as one write.
// One by one, each would fail once for every other. A queue only saves work: an
// edit that has waited long enough writes by itself, and the store decides.
type queue struct {
	key     string // of the node
	waiting []*edit
	busy    bool // a write is under way
	writes  int  // writes that have succeeded
}

// join adds e to the queue of key.
func (l *Local) join(key string, e *edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.queue != nil && e.queue.key == key {
		return
	}
	l.leave(e)
	if e.done {
		return
	}
	if l.queues[key] == nil {
		l.queues[key] = &queue{key: key}
	}
	e.queue = l.queues[key]
	e.queue.waiting = append(e.queue.waiting, e)
	e.seen = e.queue.writes
}

// looks notes that the owner of e is about to read the node.
func (l *Local) looks(e *edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.queue != nil {
		e.seen = e.queue.writes
	}
}

// quit removes e from its queue.
func (l *Local) quit(e *edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leave(e)
}

func (l *Local) leave(e *edit) {
	if e.queue == nil {
		return
	}
	e.queue.waiting = slices.DeleteFunc(e.queue.waiting, func(w *edit) bool { return w == e })
	l.close(e.queue)
	e.queue = nil
}

// close forgets an empty queue.
func (l *Local) close(ln *queue) {
	if len(ln.waiting) == 0 && !ln.busy && l.queues[ln.key] == ln {
		delete(l.queues, ln.key)
	}
}

// lead begins a write of the node of e and returns the edits to write, e first. It
// returns none if e is done, if another write has ended since the owner of e read
// the node, or, while e is patient, if another write is under way.
func (l *Local) lead(e *edit, patient bool) (*queue, []*edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := e.queue
	if e.done || ln.busy && patient || ln.writes != e.seen {
		return nil, nil
	}
	ln.busy = true
	others := slices.DeleteFunc(slices.Clone(ln.waiting), func(w *edit) bool { return w == e })
	return ln, append([]*edit{e}, others...)
}

// wrote ends a write; written are the edits it has done.
func (l *Local) wrote(ln *queue, written []*edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln.busy = false
	if len(written) > 0 {
		ln.writes++
	}
	for _, w := range written {
		w.done = true
		if w.queue == ln {
			l.leave(w)
		}
	}
	l.close(ln)
}

// isDone reports whether some write included e.
func (l *Local) isDone(e *edit) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return e.done
}
