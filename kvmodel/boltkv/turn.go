package boltkv

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// limits bound the tables and the timing. Tests lower them.
type limits struct {
	turn int
	full int
	idle time.Duration // time without a commit after which the table is moved
	tick time.Duration
	day  time.Duration // between two scrubs

	trip   int // bytes written by a trip or an atomic change
	copied int // bytes in a record of a backup

	filter uint64
	spare  uint64 // keys a filter has room for, besides half as many as the tree has

	ship     time.Duration
	snapshot time.Duration
	kept     int64
}

var defaultLimits = limits{
	turn: 16 << 20, full: 32 << 20, idle: 5 * time.Second, tick: time.Second, day: 24 * time.Hour, trip: commitlog.MaxBody - maxBytes, copied: 1 << 20,
	filter: 64 << 20, spare: 1 << 16,
	ship: 500 * time.Millisecond, snapshot: 6 * time.Hour, kept: 1 << 30,
}

// load counts the log at half its size, since repeated writes of a key only grow the log.
func (s *Store) load() int { return max(s.filling.bytes, int(s.log.Bytes()/2)) }

// turnLog begins the next log and table, and starts moving the last ones, unless a move is in
// progress, or the log is being synced and the table is not full. If it fails, the last ones stay
// in use.
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
	filling := newTable(len(s.filling.items)) // a busy store fills the next one, too
	s.mu.Lock()
	s.ended, s.log, s.seen = s.log, next, next.Bytes()
	s.moving, s.filling = s.filling, filling
	s.filling.point = s.moving.point
	s.mu.Unlock()
	s.wake()
	return nil
}

func (s *Store) beginNext() (*commitlog.Log, error) {
	if err := s.retire(); err != nil {
		return nil, err
	}
	return s.beginLog(commitlog.Header{Store: s.id, Epoch: s.log.Epoch + 1, First: s.log.Next()})
}

// slowest bounds the delay of a commit.
const slowest = 20 * time.Millisecond

// brake delays the committer if tables fill faster than they are moved. It returns false if the
// store closes.
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

func (s *Store) note(err error) { s.tell(func(st *Stats) { st.Trouble = err }) }
