package memcachekv

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestLane_Failure_IsUnclearOnlyOnceTheRequestWasWrittenInFull(t *testing.T) {
	const timeout = 200 * time.Millisecond
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	l := &link{server: newServer("a:1", Options{Timeout: timeout, Conns: 1}), ctx: t.Context()}
	l.asked = true // as the previous request left it
	w := &wire{Conn: near, link: l}

	w.SetDeadline(time.Now().Add(timeout))
	_, err := w.Write([]byte("delete k\r\n"))
	if got := l.failure(kv.Delete, err); !errors.Is(got, kv.ErrUnavailable) {
		t.Errorf("a write that no one received is %v, want ErrUnavailable", got)
	}

	go io.Copy(io.Discard, far)
	w.SetDeadline(time.Now().Add(timeout))
	if _, err := w.Write([]byte("delete k\r\n")); err != nil {
		t.Fatal(err)
	}
	_, err = w.Read(make([]byte, 10))
	if got := l.failure(kv.Delete, err); !errors.Is(got, kv.ErrUnclear) {
		t.Errorf("a write that no one answered is %v, want ErrUnclear", got)
	}
}
