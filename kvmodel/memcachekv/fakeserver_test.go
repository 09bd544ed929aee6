package memcachekv

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// fake is a server that speaks the part of memcached's protocol that the store uses, without expiry
// and limits. It misbehaves on request.
type fake struct {
	Addr string

	Mute       atomic.Bool  // it answers no requests
	HangUp     atomic.Bool  // it ends the connection after its next request, unanswered
	Says       atomic.Value // its next answer, if not empty
	Left       atomic.Int64 // it ends the connection of the request with this number; 0: none
	Unanswered atomic.Int64 // requests while mute
	Reads      atomic.Int64
	Gets       atomic.Int64 // requests for items other than the boot item
	Looks      atomic.Int64 // requests for the boot item
	Peak       atomic.Int64 // most connections at once
	cas        uint64
	listener   net.Listener

	mu    sync.Mutex
	items map[string]fakeItem
	conns map[net.Conn]bool
}

type fakeItem struct {
	flags, value string
	cas          uint64
}

func newFake(t testing.TB) *fake {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	f := &fake{Addr: listener.Addr().String(), listener: listener, items: map[string]fakeItem{}, conns: map[net.Conn]bool{}}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.conns[conn] = true
			f.Peak.Store(max(f.Peak.Load(), int64(len(f.conns))))
			f.mu.Unlock()
			served.Go(func() { f.serve(conn) })
		}
	})
	t.Cleanup(func() {
		f.Stop()
		f.Restart()
		served.Wait()
	})
	return f
}

func (f *fake) Stop() {
	f.listener.Close()
	f.Disconnect()
}

// Restart ends all connections and forgets all items.
func (f *fake) Restart() {
	f.Disconnect()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.items, f.cas = map[string]fakeItem{}, 0
}

func (f *fake) Disconnect() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for conn := range f.conns {
		conn.Close()
	}
}

// Forget drops all items, or the one of key, without a trace.
func (f *fake) Forget(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.items, func(k string, _ fakeItem) bool { return key == "" || k == key })
}

func (f *fake) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.conns, conn)
	}()
	in := bufio.NewReader(counted{conn, &f.Reads})
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		var value string
		if strings.Contains(" set add replace append cas ", " "+words[0]+" ") {
			size, _ := strconv.Atoi(words[4])
			body := make([]byte, size+2)
			if _, err := io.ReadFull(in, body); err != nil {
				return
			}
			value = string(body[:size])
		}
		if f.HangUp.CompareAndSwap(true, false) || f.Left.CompareAndSwap(1, 0) {
			return
		}
		if f.Left.Load() > 0 {
			f.Left.Add(-1)
		}
		if text, _ := f.Says.Swap("").(string); text != "" {
			io.WriteString(conn, text+"\r\n")
			continue
		}
		if f.Mute.Load() {
			f.Unanswered.Add(1)
			continue
		}
		io.WriteString(conn, f.answer(words, value))
	}
}

type counted struct {
	io.Reader
	n *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(1)
	return n, err
}

func (f *fake) answer(words []string, value string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if words[0] == "version" {
		return "VERSION fake\r\n"
	}
	if words[0] == "gets" {
		return f.gets(words[1:])
	}
	it, there := f.items[words[1]]
	switch words[0] {
	case "add":
		if there {
			return "NOT_STORED\r\n"
		}
	case "replace", "append":
		if !there {
			return "NOT_STORED\r\n"
		}
	case "cas":
		if !there {
			return "NOT_FOUND\r\n"
		}
		if words[5] != strconv.FormatUint(it.cas, 10) {
			return "EXISTS\r\n"
		}
	case "delete":
		if !there {
			return "NOT_FOUND\r\n"
		}
		delete(f.items, words[1])
		return "DELETED\r\n"
	case "incr":
		return f.incr(words[1], words[2])
	}
	f.cas++
	if words[0] == "append" {
		f.items[words[1]] = fakeItem{it.flags, it.value + value, f.cas}
	} else {
		f.items[words[1]] = fakeItem{words[2], value, f.cas}
	}
	return "STORED\r\n"
}

func (f *fake) gets(keys []string) string {
	if keys[0] == "ringtree{b}" {
		f.Looks.Add(1)
	} else {
		f.Gets.Add(1)
	}
	var out strings.Builder
	for _, key := range keys {
		if it, ok := f.items[key]; ok {
			fmt.Fprintf(&out, "VALUE %s %s %d %d\r\n%s\r\n", key, it.flags, len(it.value), it.cas, it.value)
		}
	}
	return out.String() + "END\r\n"
}

func (f *fake) incr(key, delta string) string {
	it, there := f.items[key]
	if !there {
		return "NOT_FOUND\r\n"
	}
	n, err := strconv.Atoi(it.value)
	if err != nil {
		return "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"
	}
	d, _ := strconv.Atoi(delta)
	f.cas++
	f.items[key] = fakeItem{it.flags, strconv.Itoa(n + d), f.cas}
	return strconv.Itoa(n+d) + "\r\n"
}
