package kvmodel

import "sync/atomic"

// streak counts how many consecutive changes have moved records of an index.
type streak struct{ n atomic.Int32 }

// longStreak is the number of consecutive changes that move records of an index after which the
// next is expected to. Preparations for a change that does not are wasted.
const longStreak = 3

func (s *streak) isLong() bool { return s.n.Load() >= longStreak }

func (s *streak) note(moved bool) {
	if !moved {
		s.n.Store(0)
	} else if !s.isLong() {
		s.n.Add(1)
	}
}
