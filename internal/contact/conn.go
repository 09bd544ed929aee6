package contact

import (
	"net"
	"sync"
	"sync/atomic"
)

type conn struct {
	net.Conn
	server *server
	waits  atomic.Bool // something was written after the last read
	closed sync.Once
	lost   atomic.Pointer[error] // why the server's silence has ended it
}

func (c *conn) Write(p []byte) (int, error) {
	if !c.waits.Swap(true) {
		c.server.waiting.Add(1)
	}
	c.server.asked()
	n, err := c.Conn.Write(p)
	return n, c.reason("write", err)
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.server.answers.Add(1)
		c.rest()
	}
	return n, c.reason("read", err)
}

func (c *conn) Close() error {
	err := c.Conn.Close()
	c.closed.Do(func() {
		c.rest()
		c.server.drop(c)
	})
	return err
}

func (c *conn) rest() {
	if c.waits.Swap(false) {
		c.server.waiting.Add(-1)
	}
}

func (c *conn) lose(why error) {
	c.lost.Store(&why)
	_ = c.Close()
}

// reason returns err, or why the server's silence has ended c.
func (c *conn) reason(op string, err error) error {
	why := c.lost.Load()
	if err == nil || why == nil {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Addr: address(c.server.addr), Err: *why}
}
