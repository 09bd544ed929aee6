package contact

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	// The pause between attempts grows from the first to the last.
	firstPause = 20 * time.Millisecond
	lastPause  = 500 * time.Millisecond

	// forgetAfter is how long attempts continue for a server that nobody asks for.
	forgetAfter = time.Minute
)

func (s *server) reach() {
	asks, asked := s.asks.Load(), time.Now()
	for pause := firstPause; s.isAway() && kv.Sleep(s.all.open, pause); pause = min(2*pause, lastPause) {
		if now := s.asks.Load(); now != asks {
			asks, asked = now, time.Now()
		} else if time.Since(asked) > forgetAfter {
			s.forget()
			return
		}
		if err := s.try(); err == nil {
			s.back()
			return
		} else if s.all.open.Err() == nil {
			s.leave(err)
		}
	}
	s.forget()
}

func (s *server) isAway() bool {
	away, _ := s.state()
	return away != nil
}

func (s *server) try() error {
	ctx, cancel := context.WithTimeout(s.all.open, s.all.patience)
	defer cancel()
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	c, err := s.all.dial(ctx, s.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err = c.Write(s.all.hello); err == nil {
		_, err = c.Read(make([]byte, 64))
	}
	if ctx.Err() != nil {
		return silence(s.all.patience)
	}
	return err
}

func (s *server) back() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.refuses, s.silent, s.trying = nil, false, 0, false
	s.over()
}

// forget ends the attempts. The next caller tries for itself.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.refuses, s.trying = nil, false, false
}
