package keytree

import "slices"

// queue holds the edits of one node that wait in a process to be written together. One by one, each
// write would make the others fail once. A queue only saves work: after waiting long enough an edit
// writes by itself, and the store decides.
type queue struct {
	key     string // key of the node
	waiting []*edit
	busy    bool // a write is running
	writes  int  // number of successful writes
}

// join adds edits to the queue of key.
func (l *Local) join(key string, edits []*edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	edits = slices.DeleteFunc(slices.Clone(edits), func(e *edit) bool { return e.queue != nil && e.queue.key == key })
	l.leave(edits)
	for _, e := range edits {
		if e.done {
			continue
		}
		if l.queues[key] == nil {
			l.queues[key] = &queue{key: key}
		}
		e.queue = l.queues[key]
		e.queue.waiting = append(e.queue.waiting, e)
		e.seen = e.queue.writes
	}
}

// looks notes that the owner of edits is about to read their node.
func (l *Local) looks(edits []*edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range edits {
		if e.queue != nil {
			e.seen = e.queue.writes
		}
	}
}

// quit removes edits from their queues.
func (l *Local) quit(edits []*edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leave(edits)
}

func (l *Local) leave(edits []*edit) {
	var left []*queue
	for _, e := range edits {
		if e.queue != nil && !slices.Contains(left, e.queue) {
			left = append(left, e.queue)
		}
		e.queue = nil
	}
	for _, ln := range left {
		ln.waiting = slices.DeleteFunc(ln.waiting, func(w *edit) bool { return w.queue != ln })
		l.close(ln)
	}
}

// close removes a queue if it is empty and idle.
func (l *Local) close(ln *queue) {
	if len(ln.waiting) == 0 && !ln.busy && l.queues[ln.key] == ln {
		delete(l.queues, ln.key)
	}
}

// lead begins a write of the node that edits wait for. It returns the edits to write: the first
// unwritten one of edits, then all waiting ones that are not late. It returns none if all edits are
// written, if another write has ended since the owner of edits read the node, or, with patient, if
// another write is running.
func (l *Local) lead(edits []*edit, patient bool, late func(*edit) bool) (*queue, []*edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
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

// wrote ends a write of the edits in written, whose result is next.
func (l *Local) wrote(ln *queue, written []*edit, next *leaf) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln.busy = false
	if len(written) > 0 {
		ln.writes++
	}
	for _, w := range written {
		if !w.done {
			w.done, w.absent = true, w.misses(next)
		}
	}
	l.leave(slices.DeleteFunc(slices.Clone(written), func(w *edit) bool { return w.queue != ln }))
	l.close(ln)
}

// undone returns the edits that are not yet written.
func (l *Local) undone(edits []*edit) []*edit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(edits), func(e *edit) bool { return e.done })
}
