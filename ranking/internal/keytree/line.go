package keytree

import "slices"

// A line is where changes of one page wait for each other within a process, so
// that they go out as one write instead of one after another, each lost once
// for every other. It only saves work: whoever has waited for long enough writes
// by itself, and the store decides.
type line struct {
	key     string // of the page
	waiting []*edit
	busy    bool // a write is under way
	writes  int  // that have succeeded
}

// join puts e in the line of key.
func (l *Local) join(key string, e *edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.line != nil && e.line.key == key {
		return
	}
	l.leave(e)
	if e.done {
		return
	}
	if l.lines[key] == nil {
		l.lines[key] = &line{key: key}
	}
	e.line = l.lines[key]
	e.line.waiting = append(e.line.waiting, e)
	e.seen = e.line.writes
}

// looks notes that e's holder is about to read the page.
func (l *Local) looks(e *edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.line != nil {
		e.seen = e.line.writes
	}
}

// quit takes e out of its line.
func (l *Local) quit(e *edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leave(e)
}

func (l *Local) leave(e *edit) {
	if e.line == nil {
		return
	}
	e.line.waiting = slices.DeleteFunc(e.line.waiting, func(w *edit) bool { return w == e })
	l.close(e.line)
	e.line = nil
}

// close forgets an empty line.
func (l *Local) close(ln *line) {
	if len(ln.waiting) == 0 && !ln.busy && l.lines[ln.key] == ln {
		delete(l.lines, ln.key)
	}
}

// lead begins a write of the page of e and returns the edits that wait for it, e
// first. It returns none if another's write is under way, unless e is not to
// wait any longer, or has ended since e's holder read the page, or if e is done.
func (l *Local) lead(e *edit, patient bool) (*line, []*edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := e.line
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
func (l *Local) wrote(ln *line, written []*edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln.busy = false
	if len(written) > 0 {
		ln.writes++
	}
	for _, w := range written {
		w.done = true
		if w.line == ln {
			l.leave(w)
		}
	}
	l.close(ln)
}

// isDone tells whether some write had e with it.
func (l *Local) isDone(e *edit) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return e.done
}
