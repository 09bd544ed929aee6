package guard_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/internal/proof"
)

type counted struct {
	net.Listener
	mu             sync.Mutex
	changed        sync.Cond
	accepted, open int
}

func listen(t *testing.T) *counted {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	proof.Must(t, err)
	c := &counted{Listener: l}
	c.changed.L = &c.mu
	return c
}

func (l *counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.add(1, 1)
	return &countedConn{Conn: c, l: l}, nil
}

func (l *counted) add(accepted, open int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepted, l.open = l.accepted+accepted, l.open+open
	l.changed.Broadcast()
}

func (l *counted) await(n, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.accepted < n || l.open > most {
		l.changed.Wait()
	}
}

type countedConn struct {
	net.Conn
	l    *counted
	once sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.l.add(0, -1) })
	return c.Conn.Close()
}

// Of 300 connections that send nothing, or stop in the header, in the body or after a request, at
// most 128 stay open, and others are answered. A request that is being answered is not cut off.
func TestServer_ConnectionsThatHoldStill_LeaveRoomForVisitors(t *testing.T) {
	asked, answer := make(chan bool), make(chan bool)
	server := guard.Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			asked <- true
			<-answer
		}
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "hello")
	}))
	server.ReadHeaderTimeout, server.ReadTimeout = time.Hour, time.Hour // so that the timeouts do not help
	l := listen(t)
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	url := "http://" + l.Addr().String()

	slow := make(chan string)
	go func() { slow <- get(t, url+"/slow") }()
	<-asked
	for i := range 300 {
		c, err := net.Dial("tcp", l.Addr().String())
		proof.Must(t, err)
		t.Cleanup(func() { c.Close() })
		io.WriteString(c, []string{"", "GET / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nbody", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"}[i%4])
	}
	l.await(301, 1+128+100) // Those being answered may not have been idle yet.
	for i := range 20 {
		proof.Equal(t, get(t, url), "hello", "visitor %d", i)
	}
	l.await(321, 1+128)
	answer <- true
	proof.Equal(t, <-slow, "hello", "the one that was being answered")
}

func get(t *testing.T, url string) string {
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport}).Get(url)
	if err != nil {
		return fmt.Sprint(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	proof.Is(t, err, nil)
	return string(body)
}

func TestServer_CutsOffWhoIsTooSlow(t *testing.T) {
	for what, sent := range map[string]string{
		"header": "POST / HTTP/1.1\r\nHost: a\r\n",
		"body":   "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nbody",
	} {
		server := guard.Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				panic(http.ErrAbortHandler)
			}
		}))
		server.ReadHeaderTimeout /= 100
		server.ReadTimeout /= 100
		l := listen(t)
		go server.Serve(l)
		conn, err := net.Dial("tcp", l.Addr().String())
		proof.Must(t, err)
		io.WriteString(conn, sent)
		if _, err := io.ReadAll(conn); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: want the connection ended, got %v", what, err)
		}
		conn.Close()
		server.Close()
	}
}
