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

// Server returns a server of handler, for visitors on the slowest lines. Slower ones are cut
// off: a request has 5 seconds for its header and 15 in all, and an answer has 30. A handler
// whose answer goes on longer, such as a stream, sets its own deadline with an
// http.ResponseController.
//
// Of connections on which no request is being answered, as none has been sent whole, at most 128
// stay open. When there are more, the one that has been still for longest is closed. So those who
// open many and send nothing use up neither memory nor file descriptors.
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

// maxStill is how many connections may be still at once.
const maxStill = 128

// stills are the connections on which no request is being answered.
type stills struct {
	mu  sync.Mutex
	all *list.List // of net.Conn, the one that has been still for longest first
	of  map[net.Conn]*list.Element
}

type connKey struct{}

// watched has the connection of a request not be still once its body has been read.
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

// A body calls ended once it has been read to its end.
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

// state notes the state of a connection. One that has begun to send a request is still
// until it has sent all of it.
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

// add adds c, and returns the connection that has to go, or nil.
func (s *stills) add(c net.Conn) (longest net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.of[c]; ok { // Nobody has read its body.
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
