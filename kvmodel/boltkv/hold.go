package boltkv

import "github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"

// hold keeps the logs for someone who reads them, from the first on that held commits
// which the tree lacked when the hold began.
type hold struct {
	*Store
	first uint64 // the epoch of that log
}

// hold begins a hold. Its caller releases it.
func (s *Store) hold() hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds++
	if s.moving != nil {
		return hold{s, s.ended.Epoch}
	}
	return hold{s, s.log.Epoch}
}

// release ends h. Without holds no log is kept whose commits the tree has.
func (h hold) release() {
	h.mu.Lock()
	var closing []*commitlog.Log
	if h.holds--; h.holds == 0 {
		closing, h.kept = h.kept, nil
	}
	h.mu.Unlock()
	for _, log := range closing {
		_ = log.Close()
	}
}

// readers returns readers of all commits since h began that readers can see.
func (h hold) readers() (all []*commitlog.Reader) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, log := range append(h.kept[:len(h.kept):len(h.kept)], h.ended) {
		if log != nil && log.Epoch >= h.first {
			all = append(all, log.Reader(log.Bytes()))
		}
	}
	return append(all, h.log.Reader(h.seen))
}

// retire gives up the log whose table was moved last. The next log gets its file, unless
// someone holds it; then it has no name any more.
func (s *Store) retire() error {
	s.mu.Lock()
	log, held := s.ended, s.holds > 0
	s.mu.Unlock()
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
	if held = s.holds > 0; held {
		s.kept = append(s.kept, log)
	}
	s.mu.Unlock()
	if !held {
		_ = log.Close()
	}
	return nil
}
