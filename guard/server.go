package guard

import (
	"container/list"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server returns a server for handler. A request has 5 seconds for its header and 15 in total, and
// a response has 30. A handler with longer responses, such as a stream, sets its own deadline with
// an http.ResponseController.
//
// At most 128 connections stay open without a request being answered; beyond that, the one idle for
// longest is closed. So clients that send nothing exhaust neither memory nor file descriptors.
func Server(handler http.Handler) *http.Server {
	s := &stills{all: list.New(), of: make(map[net.Conn]*list.Element)}
	return &http.Server{
		Handler:           s.watched(handler),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState:         s.state,
	}
}

const maxStill = 128

// stills are the connections without a request being answered.
type stills struct {
	mu  sync.Mutex
	all *list.List // of net.Conn, the one idle for longest first
	of  map[net.Conn]*list.Element
}

type connKey struct{}

// watched removes the connection of a request from s once the request's body has been read.
func (s *stills) watched(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			if r.Body == http.NoBody {
				s.remove(c)
			} else {
				r.Body = &body{r.Body, func() { s.remove(c) }}
			}
		}
		handler.ServeHTTP(w, r)
	})
}

type body struct {
	io.ReadCloser
	ended func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended()
	}
	return n, err
}

// A connection stays idle until it has sent a whole request.
func (s *stills) state(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew, http.StateIdle:
		if longest := s.add(c); longest != nil {
			longest.Close()
		}
	case http.StateHijacked, http.StateClosed:
		s.remove(c)
	}
}

// add adds c, and returns the connection to close, or nil.
func (s *stills) add(c net.Conn) (longest net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.of[c]; ok { // nobody has read its body
		s.all.Remove(e)
	}
	s.of[c] = s.all.PushBack(c)
	if s.all.Len() <= maxStill {
		return nil
	}
	longest = s.all.Remove(s.all.Front()).(net.Conn)
	delete(s.of, longest)
	return longest
}

func (s *stills) remove(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.of[c]; ok {
		s.all.Remove(e)
		delete(s.of, c)
	}
}
