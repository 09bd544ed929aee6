package rediskv

import (
	"net"
	"sync"
	"testing"
)

// proxy returns a proxy of the server at addr. It cuts a connection unless its data passes.
func proxy(t testing.TB, addr string, passes func(chunk []byte) bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var all sync.WaitGroup
	ended := make(chan struct{})
	carry := func(to, from net.Conn) {
		defer to.Close()
		defer from.Close()
		for buf := make([]byte, 64<<10); ; {
			n, err := from.Read(buf)
			if err != nil || !passes(buf[:n]) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
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
			all.Go(func() { carry(server, client) })
			all.Go(func() { carry(client, server) })
			all.Go(func() { <-ended; client.Close(); server.Close() })
		}
	})
	t.Cleanup(func() {
		l.Close()
		close(ended)
		all.Wait()
	})
	return l.Addr().String()
}
