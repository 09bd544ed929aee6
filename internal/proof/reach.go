package proof

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// Model is a protocol as a graph of complete states. A crash is a step only if another process must
// react to it: a process that takes no more steps has crashed, and every state is checked.
type Model[S comparable] struct {
	Begin S

	// Steps calls step with every possible next state of s, and a description of the step.
	Steps func(s S, step func(to S, format string, args ...any))

	Wrong func(s S) string

	Most int
}

// Reach visits all states that m can reach, breadth first, and returns their number. If one is
// wrong, the error is the shortest path to it. [Explore] checks code, and Reach a description of
// it, which reaches much further.
func Reach[S comparable](m Model[S]) (states int, err error) {
	seed := maphash.MakeSeed()
	// Only a hash of each state and the path to it are stored, so that millions fit into memory.
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
