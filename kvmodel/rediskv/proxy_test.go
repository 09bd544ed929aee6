package rediskv

import (
	"net"
	"sync"
	"testing"
	"time"
)

// proxy stands before a server and passes on what clients send, when it may.
type proxy struct {
	Addr  string
	pass  func(request []byte) bool // asked again until it says so
	ended chan struct{}
}

// newProxy returns a proxy before the server at addr.
func newProxy(t testing.TB, addr string, pass func(request []byte) bool) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{Addr: l.Addr().String(), pass: pass, ended: make(chan struct{})}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addr)
			if err != nil {
				client.Close()
				continue
			}
			all.Go(func() { p.copy(server, client, p.pass) })
			all.Go(func() { p.copy(client, server, func([]byte) bool { return true }) })
			all.Go(func() { <-p.ended; client.Close(); server.Close() })
		}
	})
	t.Cleanup(func() {
		l.Close()
		close(p.ended)
		all.Wait()
	})
	return p
}

// copy passes on to one side what comes from the other, when it may pass, until one is closed.
func (p *proxy) copy(to, from net.Conn, pass func([]byte) bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		for n > 0 && !pass(buf[:n]) {
			select {
			case <-p.ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
		if _, bad := to.Write(buf[:n]); err != nil || bad != nil {
			return
		}
	}
}
