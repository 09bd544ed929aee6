package keytree

import "slices"

// A line is where changes of one node wait for each other within a process, so
// that they go out as one write instead of one after another, each lost once
// for every other. It only saves work: whoever has waited for long enough writes
// by itself, and the store decides.
type queue struct {
	key     string // of the node
	waiting []*edit
	busy    bool // a write is under way
	writes  int  // that have succeeded
}

// join puts e in the line of key.
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

// looks notes that e's holder is about to read the node.
func (l *Local) looks(e *edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.queue != nil {
		e.seen = e.queue.writes
	}
}

// quit takes e out of its line.
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

// close forgets an empty line.
func (l *Local) close(ln *queue) {
	if len(ln.waiting) == 0 && !ln.busy && l.queues[ln.key] == ln {
		delete(l.queues, ln.key)
	}
}

// lead begins a write of the node of e and returns the edits that wait for it, e
// first. It returns none if another's write is under way, unless e is not to
// wait any longer, or has ended since e's holder read the node, or if e is done.
func (l *Local) lead(e *edit, patient bool) (*queue, []*edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := e.queue
	if e.done || ln.busy && patient || ln.writes != e.seen {
		return nil, nil
	}
	ln.busy = true
	edits := []*edit{e}
	for _, w := range ln.waiting {
		if w != e {
			edits = append(edits, w)
		}
	}
	return ln, edits
}

// wrote ends a write; written are the edits that are done by it.
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

// isDone reports whether some write had e with it.
func (l *Local) isDone(e *edit) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return e.done
}
