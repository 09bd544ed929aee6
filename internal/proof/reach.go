package proof

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// Model is a protocol as a graph of states, each a value that says everything. A
// crash is a step where another process has to act on it. Elsewhere a process that
// takes no more steps has crashed, since every state is checked.
type Model[S comparable] struct {
	Begin S

	// Steps calls step with every state that s can become, and what leads there.
	Steps func(s S, step func(to S, format string, args ...any))

	// Wrong says what is wrong with s, "" if nothing is.
	Wrong func(s S) string

	Most int // more states than this are an error
}

// Reach goes through all states that m can reach, breadth first, and returns how many
// there are. If something is wrong with one, the error is the shortest way there.
//
// [Explore] checks code, and Reach a description of it: it reaches much further.
func Reach[S comparable](m Model[S]) (states int, err error) {
	seed := maphash.MakeSeed()
	// States are told apart by a hash, and how each was reached is kept without it, so
	// that millions fit into memory.
	seen := map[uint64]struct{}{maphash.Comparable(seed, m.Begin): {}}
	from, by := []int32{-1}, []uint16{0}
	open := []S{m.Begin}
	for i := 0; len(open) > 0 && err == nil; i++ {
		s := open[0]
		open = open[1:]
		n := uint16(0)
		m.Steps(s, func(to S, _ string, _ ...any) {
			n++
			hash := maphash.Comparable(seed, to)
			if _, known := seen[hash]; known || err != nil {
				return
			}
			seen[hash] = struct{}{}
			from, by, open = append(from, int32(i)), append(by, n), append(open, to)
			if wrong := m.Wrong(to); wrong != "" {
				err = fmt.Errorf("%s, after\n\t%s", wrong, m.way(from, by, len(from)-1))
			}
		})
		if len(from) > m.Most && err == nil {
			err = fmt.Errorf("there are more than %d states", m.Most)
		}
	}
	return len(from), err
}

// way returns how state number at was reached.
func (m Model[S]) way(from []int32, by []uint16, at int) string {
	var choices []uint16
	for ; from[at] >= 0; at = int(from[at]) {
		choices = append(choices, by[at])
	}
	var told []string
	s := m.Begin
	for i := len(choices) - 1; i >= 0; i-- {
		n, was := uint16(0), s
		m.Steps(was, func(to S, format string, args ...any) {
			if n++; n == choices[i] {
				s = to
				told = append(told, fmt.Sprintf(format, args...))
			}
		})
	}
	return strings.Join(told, "\n\t")
}
