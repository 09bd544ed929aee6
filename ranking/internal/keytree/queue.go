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

// close forgets an empty queue.
func (l *Local) close(ln *queue) {
	if len(ln.waiting) == 0 && !ln.busy && l.queues[ln.key] == ln {
		delete(l.queues, ln.key)
	}
}

// lead begins a write of the node in whose queue edits wait. It returns the edits
// to write, the first of edits that is left before all others that are not late. It
// returns none if none is left, if another write has ended since the owner of edits
// read the node, or, while they are patient, if another write is under way.
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
	}
	l.leave(slices.DeleteFunc(slices.Clone(written), func(w *edit) bool { return w.queue != ln }))
	l.close(ln)
}

// undone returns those of edits that no write has included.
func (l *Local) undone(edits []*edit) []*edit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(edits), func(e *edit) bool { return e.done })
}
