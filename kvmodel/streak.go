package kvmodel

import "sync/atomic"

// streak counts how many changes in a row have moved records of an index.
type streak struct{ n atomic.Int32 }

// longStreak is how many changes in a row have to move records of an index before
// the next is expected to. What is prepared for a change that does not is wasted.
const longStreak = 3

func (s *streak) isLong() bool { return s.n.Load() >= longStreak }

func (s *streak) note(moved bool) {
	if !moved {
		s.n.Store(0)
	} else if !s.isLong() {
		s.n.Add(1)
	}
}
