package web

import (
	"sync"
)

// maxStreams is how many streams there are at once. Others are told to come
// back by reloading the page.
const maxStreams = 64

// streams are those that are open. They end together.
type streams struct {
	seats chan struct{}
	ended chan struct{}
	end   sync.Once
}

func newStreams() *streams {
	return &streams{seats: make(chan struct{}, maxStreams), ended: make(chan struct{})}
}

func (s *streams) close() { s.end.Do(func() { close(s.ended) }) }

// enter takes a seat, if there is one.
func (s *streams) enter() bool {
	select {
	case <-s.ended:
		return false
	case s.seats <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s *streams) leave() { <-s.seats }
