package repair

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/internal/journal"
)

// deadAfter is how long a process has not ticked when it counts as dead.
const deadAfter = 30 * time.Second

// part is one of the two things that the first pass over a journal does.
type part int

const (
	indexes  part = iota // the entries of its lines are repaired
	handlers             // their handlers are called and their ids archived
	parts
)

// signs are the last signs of life of all other processes.
type signs struct {
	now func() time.Time

	mu   sync.Mutex // never held during a trip
	last map[string]*sign
}

// sign is the last sign of life of a process, and how much of its journal has
// been repaired since.
type sign struct {
	tick    uint64
	seen    time.Time
	covered [parts]int // bytes of the journal whose lines are done
}

// isDead notes that a process's tick was seen, and reports whether it has not
// changed for long.
func (s *signs) isDead(process string, tick uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last[process]
	if last == nil || last.tick != tick {
		s.last[process] = &sign{tick: tick, seen: s.now()}
		return false
	}
	return s.now().Sub(last.seen) >= deadAfter
}

// deadFor returns for how long nothing has been seen of process.
func (s *signs) deadFor(process string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.last[process]; last != nil {
		return s.now().Sub(last.seen)
	}
	return 0
}

// keep forgets the processes other than others.
func (s *signs) keep(others []journal.Other) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.last, func(process string, _ *sign) bool {
		return !slices.ContainsFunc(others, func(o journal.Other) bool { return o.Process == process })
	})
}

// covered returns how many bytes of j have had this part done, since the process
// was last seen to live.
func (s *signs) covered(j journal.Copy, what part) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.last[j.Process]; last != nil && last.tick == j.Tick {
		return last.covered[what]
	}
	return 0
}

// cover notes that this part is done for all of j.
func (s *signs) cover(j journal.Copy, what part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.last[j.Process]; last != nil && last.tick == j.Tick {
		last.covered[what] = j.Bytes
	}
}
