package repair

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
)

// part is one of the things that the passes over a journal do.
type part int

const (
	mended      part = iota // the entries of its lines are repaired
	told                    // their handlers are called and their ids archived
	followed                // the children of what they have deleted are deleted
	resumed                 // the intents among them are carried out
	mendedAgain             // the entries are repaired in the second pass
	parts
)

// extent says for how much of a journal a part is done, and by what was known then.
type extent struct {
	bytes int // of the journal
	known int // see Config
}

// signs are the last signs of life of all other processes.
type signs struct {
	now func() time.Time

	mu      sync.Mutex // never held during a trip
	orphans bool       // what is seen for the first time now is an orphan
	last    map[string]*sign
}

// sign is the last sign of life of a process, and how much of its journal has
// been repaired since.
type sign struct {
	tick    uint64    // as it was seen last
	highest uint64    // that was seen
	seen    time.Time // when it rose
	orphan  bool      // it was dead when this process began to use the store alone
	covered [parts]extent
}

// isDead notes that a process's tick was seen, and reports whether it has not risen for
// long.
//
// A process counts up under a name of its own, so whatever it writes is higher than all
// before. A lower tick was not written: the store has gone back, or shows now one state of
// its head and now another. That is no sign of life, or the dead would live as long as it
// goes on; nor of death, since a process that lives writes a higher one next, or goes on
// under another name.
func (s *signs) isDead(process string, tick uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last[process]
	if last == nil || tick > last.highest {
		s.last[process] = &sign{tick: tick, highest: tick, seen: s.now(), orphan: last == nil && s.orphans}
		return s.last[process].orphan
	}
	if tick != last.tick {
		// What was repaired may have gone back as well.
		last.tick, last.covered = tick, [parts]extent{}
	}
	return last.orphan || s.now().Sub(last.seen) >= times.Dead
}

// endFirst notes that the first look has ended.
func (s *signs) endFirst() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orphans = false
}

// isOrphan reports whether the process of j is one, and has not changed since.
func (s *signs) isOrphan(j journal.Copy) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last[j.Process]
	return last != nil && last.tick == j.Tick && last.orphan
}

// known returns the processes that were seen, in order.
func (s *signs) known() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.last))
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

// covered returns for how much of j this part is done, since the process was last
// seen to live.
func (s *signs) covered(j journal.Copy, what part) extent {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.last[j.Process]; last != nil && last.tick == j.Tick {
		return last.covered[what]
	}
	return extent{}
}

// cover notes that this part is done for all of j.
func (s *signs) cover(j journal.Copy, what part, all extent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.last[j.Process]; last != nil && last.tick == j.Tick {
		last.covered[what] = all
	}
}
