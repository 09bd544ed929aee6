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

type hold struct {
	*Store
	from commitlog.Mark

	ctx context.Context // ends when too many logs are retained
	end context.CancelCauseFunc
}

// hold retains the commits that the tree may lack, those moved last, and all later ones, until it
// is released or its ctx ends.
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

// logs returns the logs held by h, oldest first. The caller holds mu.
func (h *hold) logs() (all []*commitlog.Log) {
	for _, log := range append(h.kept[:len(h.kept):len(h.kept)], h.ended, h.log) {
		if log != nil && log.Epoch >= h.from.Epoch {
			all = append(all, log)
		}
	}
	return all
}

func (h *hold) release() {
	h.letGo(func() {
		h.holds = slices.DeleteFunc(h.holds, func(other *hold) bool { return other == h })
	})
	h.end(nil)
}

func (h *hold) pass(at commitlog.Mark) { h.letGo(func() { h.from = at }) }

// letGo closes the kept logs that no hold needs after change.
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

type commit struct {
	commitlog.Record
	end commitlog.Mark
}

// commits returns all visible commits after h.from, and the moment up to which these are all. It
// syncs them first: the store must not lose commits that others have.
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

// retire releases the log moved last. The next log reuses its file, unless a hold needs it; then
// the file loses its name.
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
