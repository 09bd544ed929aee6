package boltkv

import (
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
	from commitlog.Mark // what stands before it, the reader does not need

	ctx  context.Context // ends when the hold does: too much was kept for it, or it was released
	lose func(error)
}

// hold begins a hold of the commits that the tree lacks or got last, and of all that come. Its
// caller releases it.
func (s *Store) hold() *hold {
	ctx, cancel := context.WithCancelCause(context.Background())
	s.holding.Lock()
	defer s.holding.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &hold{Store: s, from: commitlog.Mark{Epoch: s.log.Epoch}, ctx: ctx, lose: cancel}
	if s.ended != nil {
		h.from.Epoch = s.ended.Epoch
	}
	s.holds = append(s.holds, h)
	return h
}

// during returns ctx, which ends also when h does.
func (h *hold) during(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
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

// first returns the number of the first commit that h holds.
func (h *hold) first() uint64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.logs()[0].First
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

// dropUnheld closes kept logs that no one reads any more. Their files have no name.
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
	}
}

// readers returns readers of all commits behind h.from that readers of the store can see.
func (h *hold) readers() (all []*commitlog.Reader) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, log := range h.logs() {
		until := h.seen
		if log != h.log {
			until = log.Bytes()
		}
		all = append(all, log.Reader(h.from, until))
	}
	return all
}

// eachCommit calls f for each commit of the logs, and with where it ends.
func eachCommit(logs []*commitlog.Reader, f func(r commitlog.Record, end commitlog.Mark) error) error {
	for _, log := range logs {
		for {
			r, err := log.Next()
			if errors.Is(err, io.EOF) || r.End {
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
	s.mu.Lock()
	s.ended = nil
	s.kept = append(s.kept, log)
	s.loseHolds()
	s.mu.Unlock()
	s.dropUnheld()
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
			h.lose(fmt.Errorf("it takes too long: more than %d MB of logs were kept for it", s.limits.kept>>20))
		}
		return lost
	})
}
