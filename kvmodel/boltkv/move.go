package boltkv

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

const (
	movedAtOnce = 4000
	movedBytes  = 4 << 20

	sweptAtOnce = 1000
	moveAgain   = time.Second
)

func (s *Store) moveTables() {
	defer close(s.moverEnded)
	for {
		select {
		case <-s.woken:
		case <-s.stopped: // The committer has ended; Close moves the rest.
			return
		}
		if s.failed.Load() != nil {
			continue // bbolt may have panicked with a lock held.
		}
		err := s.moveNow()
		for ; err != nil && s.failed.Load() == nil; err = s.moveNow() {
			select {
			case <-time.After(moveAgain):
			case <-s.stopped:
				return
			}
		}
		if s.isFilterWanted() {
			s.wake()
		}
	}
}

func (s *Store) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// moved returns a channel that is closed after the next try to move the waiting table, or nil if
// none is moving.
func (s *Store) moved() <-chan struct{} {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.moving == nil {
		return nil
	}
	return s.attempt
}

func (s *Store) moveNow() error {
	s.mu.RLock()
	t, log := s.moving, s.ended
	s.mu.RUnlock()
	var err error
	if t == nil {
		err = cmp.Or(s.sweepTree(), s.scrubSome())
	} else {
		err = s.moveTable(t, log, func(st *state) { st.epoch = log.Epoch + 1 })
	}
	s.note(err)
	if err == nil && t != nil {
		s.mu.Lock()
		s.moving = nil
		s.mu.Unlock()
	}
	s.tried()
	return err
}

func (s *Store) tried() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.attempt)
	s.attempt = make(chan struct{})
}

// moveTable moves t to the tree and updates the state there. It syncs the log first: a crash must
// not remove commits from the log that the tree has.
func (s *Store) moveTable(t *table, log *commitlog.Log, then func(*state)) error {
	if s.opts.Durability != Synced {
		if fail := s.sync(log, t.seq); fail != nil {
			return fail
		}
	}
	addTable(s.filter.Load(), t)
	addTable(s.scrub.filter, t)
	left, broken, err := s.moveItems(t)
	if err == nil {
		err = s.carry(left, broken)
	}
	if err != nil {
		return err
	}
	applied := func(tr *tree) {
		tr.setState(func(st *state) {
			st.point = t.point
			then(st)
		})
	}
	err = s.update(func(tr *tree) {
		tr.sweep(sweptAtOnce)
		applied(tr)
	})
	if isBroken(err) { // A page with expired items is damaged.
		err = s.update(applied)
	}
	return err
}

// left has the items that damaged pages refused, with the error broken.
func (s *Store) moveItems(t *table) (left map[string][]byte, broken, err error) {
	left = make(map[string][]byte)
	for keys := slices.Sorted(maps.Keys(t.items)); len(keys) > 0; {
		n, size := 0, 0
		for ; n < len(keys) && n < movedAtOnce && size < movedBytes; n++ {
			size += len(keys[n]) + len(t.items[keys[n]])
		}
		some := keys[:n]
		keys = keys[n:]
		err := s.update(func(tr *tree) {
			for _, key := range some {
				tr.set(bytesOf(key), t.items[key])
			}
		})
		if err != nil && !isBroken(err) {
			return left, broken, err
		}
		if err != nil {
			broken = err
			for _, key := range some {
				left[key] = t.items[key]
			}
		}
	}
	return left, broken, nil
}

func (s *Store) carry(left map[string][]byte, broken error) error {
	s.tell(func(st *Stats) { st.Carried = uint64(len(left)) })
	if len(left) == 0 {
		return nil
	}
	s.carrying.Store(true)
	defer s.carrying.Store(false)
	s.tried() // The committer may wait for this move.
	fail := s.write(context.Background(), func(in *live) *failure {
		for key, buf := range left {
			if _, changed := in.changes[key]; !changed && !in.filling.has(key) {
				in.set(key, buf)
			}
		}
		return nil
	})
	if fail != nil {
		return fmt.Errorf("%d items stay in its log: %w", len(left), broken)
	}
	return nil
}

// sweepTree removes expired items. An item on a damaged page stays there, and is no longer listed.
func (s *Store) sweepTree() error {
	due := false
	if fail := s.view(func(t *tree) { due = t.due() != nil }); fail != nil || !due {
		return nil
	}
	for limit := sweptAtOnce; limit > 0; limit /= 2 {
		if err := s.update(func(t *tree) { t.sweep(limit) }); !isBroken(err) {
			return err
		}
	}
	return s.update(func(t *tree) {
		if entry := t.due(); entry != nil {
			must(t.expiry().Delete(bytes.Clone(entry)))
		}
	})
}

func isBroken(err error) bool { return errors.Is(err, errPage) }

// update changes the tree by f, in one synced transaction. If f reads a damaged page, nothing
// changes and the error is an errPage.
func (s *Store) update(f func(*tree)) (err error) {
	fail := s.guard(func() { err = s.updateTree(f) })
	if fail != nil {
		return fail
	}
	return err
}

func (s *Store) updateTree(f func(*tree)) error {
	tx, err := s.db.Begin(true)
	if err != nil {
		return err
	}
	defer func() {
		_ = tx.Rollback()
	}()
	id, t := tx.ID(), (*tree)(nil)
	broken := onPage(func() {
		t = s.tree(tx)
		t.block = &block{room: make([]byte, 0, blockRoom)}
		f(t)
		t.end()
		t.setState(func(st *state) { st.items += uint64(t.added) })
		err = s.commitTree(tx)
	})
	if err = cmp.Or(broken, err); err != nil {
		return s.afterFailed(id, err)
	}
	if t.passed != 0 { // Only the mover changes items, and it owns scrub.
		s.scrub.seen += uint64(t.passed)
	}
	s.tell(func(st *Stats) { st.Swept += uint64(t.swept) })
	return nil
}

// afterFailed handles a failed commit of the tree. bbolt writes and syncs the data, then the header
// that makes it valid. If the header shows the transaction, only the last sync failed and the state
// on disk is unknown. Another commit could overwrite data that the header on disk still refers to,
// so the store stops.
func (s *Store) afterFailed(id int, cause error) error {
	cause = fmt.Errorf("commit %s: %w", s.path, cause)
	shows := true
	err := s.db.View(func(tx *bolt.Tx) error {
		shows = tx.ID() >= id
		return nil
	})
	if err != nil || shows {
		s.stop(cause)
	}
	return cause
}
