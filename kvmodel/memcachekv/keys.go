package memcachekv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	// keysAtOnce is the number of keys passed on at once.
	keysAtOnce = 1000

	// dumpTries bounds the requests to a server with a busy crawler.
	dumpTries = 20

	// dumpPause is the pause between two tries.
	dumpPause = 100 * time.Millisecond
)

var (
	// errCrawling: the crawler is busy with another request.
	errCrawling = errors.New("its crawler is busy")

	// errNotListed: the server does not know this kind of dump.
	errNotListed = errors.New("it does not list its keys")
)

// keys is the power Keys. Each server lists its items with a command of its LRU crawler, so it
// requires memcached 1.5 with the crawler on, which is the default. An early one scans only its
// lists and not its table of all items. It misses an item that moves between lists meanwhile, which
// a read can cause.
func (s *Store) keys(ctx context.Context, begin string, f func([]string) error) error {
	for _, srv := range s.servers {
		found, err := srv.keys(ctx, begin)
		if err != nil {
			return err
		}
		for len(found) > 0 {
			some := found[:min(keysAtOnce, len(found))]
			if err := f(some); err != nil {
				return err
			}
			found = found[len(some):]
		}
	}
	return nil
}

// keys returns the keys on s that begin with begin.
func (s *server) keys(ctx context.Context, begin string) (found []string, err error) {
	for _, all := range []string{"hash", "all"} {
		for range dumpTries {
			if found, err = s.dump(ctx, all, begin); !errors.Is(err, errCrawling) || !kv.Sleep(ctx, dumpPause) {
				break
			}
		}
		if !errors.Is(err, errNotListed) {
			break
		}
	}
	if err != nil {
		return nil, s.failure(ctx, kv.ErrUnavailable, err)
	}
	return found, nil
}

// dump asks for the keys once, on a connection of its own: by the table of all items, "hash", or by
// the lists of all classes, "all".
func (s *server) dump(ctx context.Context, all, begin string) (found []string, err error) {
	if s.isClosed() {
		return nil, errClosed
	}
	conn, err := s.connect(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, "lru_crawler metadump "+all+"\r\n"); err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	for {
		line, err := s.dumped(conn, in)
		if err != nil || line == "END" {
			return found, err
		}
		key, err := keyIn(line)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(key, begin) {
			found = append(found, key)
		}
	}
}

// dumped returns the next line of a dump.
func (s *server) dumped(conn net.Conn, in *bufio.Reader) (string, error) {
	if in.Buffered() == 0 {
		if err := conn.SetReadDeadline(time.Now().Add(s.opts.Timeout)); err != nil {
			return "", err
		}
	}
	line, err := in.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

// keyIn returns the key in a line of a dump.
func keyIn(line string) (string, error) {
	if strings.HasPrefix(line, "BUSY") {
		return "", errCrawling
	}
	escaped, ok := strings.CutPrefix(line, "key=")
	if !ok {
		return "", fmt.Errorf("%w: %q", errNotListed, line)
	}
	escaped, _, _ = strings.Cut(escaped, " ")
	return url.PathUnescape(escaped)
}
