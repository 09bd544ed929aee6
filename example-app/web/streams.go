package web

import "sync"

// maxStreams is the number of streams that may be open at once. Further visitors
// have to reload the page instead.
const maxStreams = 64

// streams counts the open streams and can end all of them.
type streams struct {
	slots chan struct{}
	ended chan struct{}
	end   sync.Once
}

func newStreams() *streams {
	return &streams{slots: make(chan struct{}, maxStreams), ended: make(chan struct{})}
}

func (s *streams) close() { s.end.Do(func() { close(s.ended) }) }

// enter takes a slot and reports whether one was free.
func (s *streams) enter() bool {
	select {
	case <-s.ended:
		return false
	case s.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s *streams) leave() { <-s.slots }
