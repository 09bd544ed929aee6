package web

import "sync"

// maxStreams is the number of streams that may be open at once. Further visitors
// have to reload the page instead.
const maxStreams = 64

// streams has the open streams, one for each visitor, and can end all of them.
type streams struct {
	mu     sync.Mutex
	open   map[string]chan struct{} // by visitor; closed to end the stream
	closed bool
}

func newStreams() *streams { return &streams{open: make(map[string]chan struct{})} }

// close ends all streams. No others begin.
func (s *streams) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for who, end := range s.open {
		close(end)
		delete(s.open, who)
	}
}

// enter begins the stream of a visitor, and ends an earlier one of theirs. ended is closed
// once this one has to end. It reports whether there was room.
func (s *streams) enter(who string) (ended chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, again := s.open[who]
	if s.closed || !again && len(s.open) >= maxStreams {
		return nil, false
	}
	if again {
		close(before)
	}
	ended = make(chan struct{})
	s.open[who] = ended
	return ended, true
}

// leave ends the stream for which enter has returned ended.
func (s *streams) leave(who string, ended chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[who] == ended {
		delete(s.open, who)
	}
}

func (s *streams) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}
