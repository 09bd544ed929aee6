package web

import "sync"

// maxStreams is the number of streams that may be open at once, and maxStreamsFrom that of
// those at one address. Further visitors have to reload the page instead.
const maxStreams, maxStreamsFrom = 64, 16

// streams has the open streams, one for each visitor, and can end all of them.
type streams struct {
	mu     sync.Mutex
	open   map[string]openStream // by visitor
	closed bool
}

// An openStream is at an address. ended is closed to end it.
type openStream struct {
	from  string
	ended chan struct{}
}

func newStreams() *streams { return &streams{open: make(map[string]openStream)} }

// close ends all streams. No others begin.
func (s *streams) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for who, stream := range s.open {
		close(stream.ended)
		delete(s.open, who)
	}
}

// enter begins the stream of a visitor at an address, and ends an earlier one of theirs. ended
// is closed once this one has to end. It reports whether there was room.
func (s *streams) enter(who, from string) (ended chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, again := s.open[who]
	room := len(s.open) < maxStreams && s.countFrom(from) < maxStreamsFrom
	if s.closed || !again && !room {
		return nil, false
	}
	if again {
		close(before.ended)
	}
	ended = make(chan struct{})
	s.open[who] = openStream{from, ended}
	return ended, true
}

// countFrom returns how many streams are open at an address. The caller holds the lock.
func (s *streams) countFrom(from string) (n int) {
	for _, stream := range s.open {
		if stream.from == from {
			n++
		}
	}
	return n
}

// leave ends the stream for which enter has returned ended.
func (s *streams) leave(who string, ended chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[who].ended == ended {
		delete(s.open, who)
	}
}

func (s *streams) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}
