package boltkv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// hold keeps the logs for someone who reads them.
type hold struct {
	*Store
	from commitlog.Mark // what stands before it, the reader does not need

	ctx context.Context // ends when the hold does: too much was kept for it, or it was released
	end context.CancelCauseFunc
}

// hold begins a hold of the commits that the tree lacks or got last, and of all that come. Its
// reader has until ctx ends, and the caller releases it.
func (s *Store) hold(ctx context.Context) *hold {
	ctx, end := context.WithCancelCause(ctx)
	s.holding.Lock()
	defer s.holding.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &hold{Store: s, from: commitlog.Mark{Epoch: s.log.Epoch}, ctx: ctx, end: end}
	if s.ended != nil {
		h.from.Epoch = s.ended.Epoch
	}
	s.holds = append(s.holds, h)
	return h
}

// logs returns the logs that h holds, the oldest first. Its caller holds mu.
func (h *hold) logs() (all []*commitlog.Log) {
	for _, log := range append(h.kept[:len(h.kept):len(h.kept)], h.ended, h.log) {
		if log != nil && log.Epoch >= h.from.Epoch {
			all = append(all, log)
		}
	}
	return all
}

// release ends h.
func (h *hold) release() {
	h.letGo(func() {
		h.holds = slices.DeleteFunc(h.holds, func(other *hold) bool { return other == h })
	})
	h.end(nil)
}

// pass says that what stands before at is not needed any more.
func (h *hold) pass(at commitlog.Mark) { h.letGo(func() { h.from = at }) }

// letGo closes the kept logs that no one reads any more after a change. Their files have no
// name.
func (s *Store) letGo(change func()) {
	s.mu.Lock()
	change()
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
	}
}

// commit is one that stands in a log.
type commit struct {
	commitlog.Record
	end commitlog.Mark // the place behind it
}

// commits returns all commits behind h.from that readers of the store can see, and the moment
// when these are all. They are on the disk: what others have of a store, it must not lose.
func (h *hold) commits() (all iter.Seq2[commit, error], now point, err error) {
	logs, now, err := h.readers()
	if err != nil {
		return nil, now, err
	}
	if fail := h.syncSeen(); fail != nil {
		return nil, now, fail
	}
	return func(yield func(commit, error) bool) {
		for _, log := range logs {
			for {
				r, err := log.Next()
				if errors.Is(err, io.EOF) || r.End {
					break
				}
				if !yield(commit{r, log.Mark()}, err) || err != nil {
					return
				}
			}
		}
	}, now, nil
}

// readers returns readers of these commits. It returns an error if logs that have some of them
// may be gone, since h has ended.
func (h *hold) readers() (all []*commitlog.Reader, now point, err error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, log := range h.logs() {
		until := h.seen
		if log != h.log {
			until = log.Bytes()
		}
		all = append(all, log.Reader(h.from, until))
	}
	return all, h.filling.present(), context.Cause(h.ctx)
}

// retire gives up the log whose table was moved last. The next log gets its file, unless
// someone holds it; then the file has no name any more.
func (s *Store) retire() error {
	s.mu.RLock()
	log, held := s.ended, len(s.holds) > 0
	s.mu.RUnlock()
	if log == nil {
		return nil
	}
	if held {
		if err := s.disk.remove(s.logPath(log.Epoch)); err != nil {
			return err
		}
	}
	s.letGo(func() {
		s.ended = nil
		s.kept = append(s.kept, log)
		s.loseHolds()
	})
	return nil
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
		lost := bytes > s.limits.kept
		if lost {
			h.end(fmt.Errorf("it takes too long: more than %d MB of logs were kept for it", s.limits.kept>>20))
		}
		return lost
	})
}
