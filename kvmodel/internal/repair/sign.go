package repair

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
)

type part int

const (
	mended      part = iota // the entries of its lines are repaired
	told                    // handlers are called and ids archived
	followed                // the children of deleted records are deleted
	resumed                 // its intents are carried out
	mendedAgain             // the entries are repaired in the second pass
	parts
)

// extent is how much of a journal a part covers.
type extent struct {
	bytes int // of the journal
	known int // see Config
}

type signs struct {
	now func() time.Time

	mu      sync.Mutex
	orphans bool // a process first seen now is one
	last    map[string]*sign
}

type sign struct {
	tick    uint64 // last
	highest uint64
	seen    time.Time // when it rose
	orphan  bool      // dead when this process began to use the store alone
	covered [parts]extent
}

// isDead records a tick, and reports whether it has not risen for long.
//
// A process writes only rising ticks. A lower one means that the store has gone back. That is no
// sign of life, or the dead would live while it goes on, nor of death: a live process next writes a
// higher tick or takes another name.
func (s *signs) isDead(process string, tick uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last[process]
	if last == nil || tick > last.highest {
		s.last[process] = &sign{tick: tick, highest: tick, seen: s.now(), orphan: last == nil && s.orphans}
		return s.last[process].orphan
	}
	if tick != last.tick {
		// Repairs may have been undone as well.
		last.tick, last.covered = tick, [parts]extent{}
	}
	return last.orphan || s.now().Sub(last.seen) >= times.Dead
}

func (s *signs) endFirst() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orphans = false
}

func (s *signs) isOrphan(j journal.Copy) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last[j.Process]
	return last != nil && last.tick == j.Tick && last.orphan
}

func (s *signs) known() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.last))
}

func (s *signs) deadFor(process string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.last[process]; last != nil {
		return s.now().Sub(last.seen)
	}
	return 0
}

func (s *signs) keep(others []journal.Other) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.last, func(process string, _ *sign) bool {
		return !slices.ContainsFunc(others, func(o journal.Other) bool { return o.Process == process })
	})
}

// covered starts again with a sign of the process.
func (s *signs) covered(j journal.Copy, what part) extent {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.last[j.Process]; last != nil && last.tick == j.Tick {
		return last.covered[what]
	}
	return extent{}
}

func (s *signs) cover(j journal.Copy, what part, all extent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.last[j.Process]; last != nil && last.tick == j.Tick {
		last.covered[what] = all
	}
}
