package main

import (
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// proxy delays each reply of a server by a round-trip time: pipelined requests wait together, and
// dependent ones one after another.
type proxy struct {
	listener net.Listener
	server   string
	delay    atomic.Int64
}

func newProxy(server string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, server: server}
	go p.serve()
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) close() { p.listener.Close() }

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		go func() { // until one of the two ends the connection
			defer server.Close()
			io.Copy(server, client)
		}()
		go func() {
			defer client.Close()
			p.hold(client, server)
		}()
	}
}

type late struct {
	data []byte
	due  time.Time
}

// hold forwards the server's output, each part after the delay.
func (p *proxy) hold(client io.Writer, server io.Reader) {
	parts, written := make(chan late, 1024), make(chan struct{})
	defer func() { close(parts); <-written }()
	go func() {
		defer close(written)
		for part := range parts {
			sleepUntil(part.due)
			_, _ = client.Write(part.data)
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if n > 0 {
			parts <- late{append([]byte(nil), buffer[:n]...), time.Now().Add(time.Duration(p.delay.Load()))}
		}
		if err != nil {
			return
		}
	}
}

// sleepUntil is exact to a tenth of a millisecond. time.Sleep is not.
func sleepUntil(due time.Time) {
	for left := time.Until(due); left > 0; left = time.Until(due) {
		span := syscall.NsecToTimespec(int64(left))
		_ = syscall.Nanosleep(&span, nil) // If a signal interrupts it, the loop continues.
	}
}
