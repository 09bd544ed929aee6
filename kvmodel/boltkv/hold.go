package boltkv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// hold keeps the logs for someone who reads them.
type hold struct {
	*Store
	from     commitlog.Mark // what stands before it, the reader does not need
	outlives bool           // The logs are kept also when the process has ended.

	lost bool        // Too much was kept. That is gone, and more is not kept.
	lose func(error) // is called then
}

// hold begins a hold of the commits that the tree lacks, and of all that come, for something
// that ends with ctx, which it returns: that ends when the hold is lost, too. Its caller
// releases the hold.
func (s *Store) hold(ctx context.Context) (*hold, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.holding.Lock()
	defer s.holding.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &hold{Store: s, from: commitlog.Mark{Epoch: s.log.Epoch}, lose: cancel}
	if s.moving != nil {
		h.from.Epoch = s.ended.Epoch
	}
	s.holds = append(s.holds, h)
	return h, ctx
}

// holdAll begins a hold of all commits there are in logs, those included that were kept when
// the store was closed. It takes the place of one that has ended without them being read.
func (s *Store) holdAll() (*hold, error) {
	s.holding.Lock()
	defer s.holding.Unlock()
	if err := s.openKept(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = slices.DeleteFunc(s.holds, func(h *hold) bool { return h.outlives })
	h := &hold{Store: s, from: commitlog.Mark{Epoch: s.firstLog().Epoch}, outlives: true, lose: func(error) {}}
	s.holds = append(s.holds, h)
	return h, nil
}

// first returns the number of the first commit in the logs.
func (h *hold) first() uint64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.firstLog().First
}

// holdAgain makes sure that h holds what there is, after it was lost.
func (h *hold) holdAgain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost {
		h.lost, h.from = false, commitlog.Mark{Epoch: h.firstLog().Epoch}
		h.holds = append(h.holds, h)
	}
}

// firstLog returns the oldest log there is.
func (s *Store) firstLog() *commitlog.Log {
	switch {
	case len(s.kept) > 0:
		return s.kept[0]
	case s.ended != nil:
		return s.ended
	}
	return s.log
}

// openKept opens the logs that the store needs no more and that were left when it was open
// last, as far back as they go on with each other. The others are removed.
func (s *Store) openKept() error {
	s.mu.RLock()
	ended, kept, first := s.ended, s.kept, s.firstLog()
	s.mu.RUnlock()
	if ended == nil {
		log, err := s.openLeft(s.logPath(first.Epoch - 1))
		if err != nil {
			return err
		}
		switch {
		case log == nil:
		case log.Epoch == first.Epoch-1 && log.Next() == first.First:
			ended, first = log, log
		default:
			_ = log.Close()
		}
	}
	left, err := s.leftLogs(first.Epoch)
	if err != nil {
		return err
	}
	for _, log := range left {
		if log.Next() == first.First {
			kept, first = append([]*commitlog.Log{log}, kept...), log
			continue
		}
		if err := errors.Join(log.Close(), s.disk.remove(s.keptPath(log.Epoch))); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.ended, s.kept = ended, kept
	s.mu.Unlock()
	return nil
}

// leftLogs opens the logs before that of an epoch that were kept, the newest first.
func (s *Store) leftLogs(before uint64) (logs []*commitlog.Log, err error) {
	paths, err := s.disk.list(s.path + keptEnd)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		log, err := s.openLeft(path)
		switch {
		case err != nil:
			return nil, err
		case log == nil:
		case log.Epoch < before:
			logs = append(logs, log)
		default:
			_ = log.Close()
		}
	}
	slices.SortFunc(logs, func(a, b *commitlog.Log) int { return cmp.Compare(b.Epoch, a.Epoch) })
	return logs, nil
}

// release ends h.
func (h *hold) release() {
	h.mu.Lock()
	h.holds = slices.DeleteFunc(h.holds, func(other *hold) bool { return other == h })
	h.mu.Unlock()
	h.dropUnheld()
	h.lose(nil)
}

// pass says that what stands before at is not needed any more.
func (h *hold) pass(at commitlog.Mark) {
	h.mu.Lock()
	h.from = at
	h.mu.Unlock()
	h.dropUnheld()
}

// dropUnheld closes and removes kept logs that no one reads any more.
func (s *Store) dropUnheld() {
	s.mu.Lock()
	first := s.log.Epoch
	for _, h := range s.holds {
		first = min(first, h.from.Epoch)
	}
	n := 0
	for n < len(s.kept) && s.kept[n].Epoch < first {
		n++
	}
	unheld := s.kept[:n:n]
	s.kept = s.kept[n:]
	s.mu.Unlock()
	for _, log := range unheld {
		_ = log.Close()
		// It has this name only if it was to outlive the process.
		_ = s.disk.remove(s.keptPath(log.Epoch))
	}
}

// readers returns readers of all commits behind h.from that readers of the store can see.
func (h *hold) readers() (all []*commitlog.Reader) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, log := range append(h.kept[:len(h.kept):len(h.kept)], h.ended) {
		if log != nil && log.Epoch >= h.from.Epoch {
			all = append(all, log.Reader(h.from, log.Bytes()))
		}
	}
	return append(all, h.log.Reader(h.from, h.seen))
}

// eachCommit calls f for each record of the logs, and with where it ends.
func eachCommit(logs []*commitlog.Reader, f func(r commitlog.Record, end commitlog.Mark) error) error {
	for _, log := range logs {
		for {
			r, err := log.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = f(r, log.Mark())
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// keptPath returns the path of the log of an epoch that is kept longer than the store needs
// it.
func (s *Store) keptPath(epoch uint64) string { return fmt.Sprint(s.path, keptEnd, epoch) }

const keptEnd = ".kept"

// retire gives up the log whose table was moved last. The next log gets its file, unless
// someone holds it; then it gets another name, or none any more.
func (s *Store) retire() error {
	s.mu.RLock()
	log, held, outlives := s.ended, len(s.holds) > 0, s.outlives()
	s.mu.RUnlock()
	if log == nil {
		return nil
	}
	var err error
	switch path := s.logPath(log.Epoch); {
	case outlives:
		err = s.disk.rename(path, s.keptPath(log.Epoch))
	case held:
		err = s.disk.remove(path)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.ended = nil
	s.kept = append(s.kept, log)
	s.loseHolds()
	s.mu.Unlock()
	s.dropUnheld()
	return nil
}

// outlives reports whether someone needs the logs even when the process has ended.
func (s *Store) outlives() bool {
	return slices.ContainsFunc(s.holds, func(h *hold) bool { return h.outlives })
}

// leaveLogs removes the logs of a store that is about to be closed, or gives them the names
// by which they are kept. They are closed: not every system renames or removes an open file.
func (s *Store) leaveLogs() error {
	if s.outlives() {
		for _, log := range []*commitlog.Log{s.ended, s.log} {
			if log == nil {
				continue
			}
			if err := s.disk.rename(s.logPath(log.Epoch), s.keptPath(log.Epoch)); err != nil {
				return err
			}
		}
		if err := s.syncNames(); err != nil {
			return err
		}
	}
	return s.removeLogs()
}

// loseHolds ends the holds for which more is kept than may be.
func (s *Store) loseHolds() {
	s.holds = slices.DeleteFunc(s.holds, func(h *hold) bool {
		var bytes int64
		for _, log := range s.kept {
			if log.Epoch >= h.from.Epoch {
				bytes += log.Bytes()
			}
		}
		if h.lost = bytes > s.limits.kept; h.lost {
			h.lose(fmt.Errorf("it takes too long: more than %d MB of logs were kept for it", s.limits.kept>>20))
		}
		return h.lost
	})
}
