package keytree

func (p *nodes) live(l *leaf) tally { return p.tally(l.counted()) }

func (p *nodes) tally(entries []entry) tally {
	t := tally{members: len(entries)}
	if !p.dense {
		return t
	}
	for i, e := range entries {
		if i == 0 || !e.score.Equals(entries[i-1].score) {
			t.scores++
		}
	}
	return t
}

func (p *nodes) total(name string, r *router) tally {
	return p.some(name, r, func(int) bool { return true })
}

func (p *nodes) some(name string, r *router, wanted func(child int) bool) tally {
	var parts [4]tally
	for i, s := range r.slots {
		if wanted(i) {
			parts[i] = s.tally
		}
	}
	return p.sum(name, parts)
}

// sum adds up the tallies of four children. A score is in two of them only if its bits end in the
// name or in its next bit: then it is the only score there.
func (p *nodes) sum(name string, parts [4]tally) (all tally) {
	var room [maxBits + 1]byte
	bits := append(room[:0], name...)
	for half := range 2 {
		t := parts[2*half].plus(parts[2*half+1])
		if t.scores > 1 && p.code.hasWhole(append(bits, '0'+byte(half))) {
			t.scores = 1
		}
		all = all.plus(t)
	}
	if all.scores > 1 && p.code.hasWhole(bits) {
		all.scores = 1
	}
	return all
}
