package boltkv

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// limits bound how much the tables hold. Tests make them small.
type limits struct {
	turn int           // the load after which another table begins to be filled
	full int           // the load with which a table takes no more
	idle time.Duration // without a commit, after which what there is is moved to the tree
	tick time.Duration // how often the store looks whether anything is due
	day  time.Duration // from the beginning of a scrub to that of the next

	trip   int // bytes that a trip or an atomic change writes at most
	copied int // bytes of items in a record of a backup

	filter uint64 // bytes of a filter at most: a store of more keys has none
	spare  uint64 // keys that a filter has room for, besides half as many as there are

	ship     time.Duration // how often Ship looks for new commits
	snapshot time.Duration // how long it takes to ship a snapshot, at most
	kept     int64         // bytes of logs that the store needs no more and keeps for a reader
}

var defaultLimits = limits{
	turn: 16 << 20, full: 32 << 20, idle: 5 * time.Second, tick: time.Second, day: 24 * time.Hour, trip: commitlog.MaxBody - maxBytes, copied: 1 << 20,
	filter: 64 << 20, spare: 1 << 16,
	ship: 500 * time.Millisecond, snapshot: 6 * time.Hour, kept: 1 << 30,
}

// load is how many bytes the table that is being filled takes, or half those of its log:
// where a few keys are written over and over, only the log grows.
func (s *Store) load() int { return max(s.filling.bytes, int(s.log.Bytes()/2)) }

// turnLog begins the next log and the next table, and has what the last ones hold moved
// to the tree. As long as that is under way for the ones before, or the log is being synced
// and the table not full, nothing is done. If the next log cannot be begun, the last go on.
func (s *Store) turnLog() error {
	if s.moved() != nil {
		return nil
	}
	if !s.holding.TryLock() {
		if s.load() < s.limits.full {
			return nil
		}
		s.holding.Lock()
	}
	next, err := s.beginNext()
	s.holding.Unlock()
	if err != nil {
		return fmt.Errorf("begin %s: %w", s.logPath(s.log.Epoch+1), err)
	}
	end := commitlog.Record{Time: s.lastTime, Version: s.version, Durable: s.durable.Load(), End: true}
	if fail := s.appended(s.log.Append(&end)); fail != nil {
		return errors.Join(fail, next.Close())
	}
	if s.opts.Durability == Synced {
		if fail := s.sync(s.log, next.First-1); fail != nil {
			return errors.Join(fail, next.Close())
		}
	}
	s.mu.Lock()
	s.ended, s.log, s.seen = s.log, next, next.Bytes()
	s.moving, s.filling = s.filling, newTable()
	s.filling.point = s.moving.point
	s.mu.Unlock()
	s.wake()
	return nil
}

// beginNext begins the log behind the one there is, in the file of the one before.
func (s *Store) beginNext() (*commitlog.Log, error) {
	if err := s.retire(); err != nil {
		return nil, err
	}
	return s.beginLog(commitlog.Header{Store: s.id, Epoch: s.log.Epoch + 1, First: s.log.Next()})
}

// slowest is how long a commit waits at most while a table is moved and the other is
// nearly full.
const slowest = 20 * time.Millisecond

// brake lets the committer wait if tables are filled faster than they are moved: the
// longer the fuller the one is that is being filled. It returns false if the store
// closes meanwhile.
func (s *Store) brake() bool {
	over := s.load() - s.limits.turn
	moved := s.moved()
	if over <= 0 || moved == nil || s.Stats().Trouble != nil || s.carrying.Load() {
		return true
	}
	began := time.Now()
	defer s.tell(func(st *Stats) { st.Slowed += time.Since(began) })
	var enough <-chan time.Time
	if room := s.limits.full - s.limits.turn; over < room {
		pause := time.NewTimer(slowest * time.Duration(over) / time.Duration(room))
		defer pause.Stop()
		enough = pause.C
	}
	select {
	case <-enough:
	case <-moved:
	case <-s.closing:
		return false
	}
	return true
}

// full returns why nothing can be committed: the table is full, and cannot be moved.
func (s *Store) full() *failure {
	if s.load() < s.limits.full || s.carrying.Load() {
		return nil
	}
	err := s.turnLog()
	if err == nil && s.load() >= s.limits.full {
		err = s.Stats().Trouble
	}
	if err == nil {
		return nil
	}
	s.note(err)
	return unavailable(fmt.Errorf("%s is full, and cannot be moved to %s: %w", s.logPath(s.log.Epoch), s.path, err))
}

// note remembers why a table could not be moved, or the next log not be begun; nil: it
// could.
func (s *Store) note(err error) { s.tell(func(st *Stats) { st.Trouble = err }) }
