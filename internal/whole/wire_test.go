package whole_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
)

type wire struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, addr string) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	return &wire{t, conn, bufio.NewReader(conn)}
}

func (w *wire) send(format string, args ...any) {
	w.t.Helper()
	_, err := fmt.Fprintf(w, format, args...)
	must(w.t, err)
}

func (w *wire) line() string {
	w.t.Helper()
	line, err := w.in.ReadString('\n')
	must(w.t, err)
	return strings.TrimRight(line, "\r\n")
}
