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
	keysAtOnce = 1000

	dumpTries = 20

	dumpPause = 100 * time.Millisecond
)

var (
	errCrawling = errors.New("its crawler is busy")

	errNotListed = errors.New("it does not list its keys")
)

// keys lists keys by a command of the LRU crawler, on by default since memcached 1.5. An early one
// scans only its lists, not its table of all items, and misses an item that moves between lists
// meanwhile, as a read can cause.
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

// dump asks for the keys in the table of all items, "hash", or in all lists, "all".
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

func (s *server) dumped(conn net.Conn, in *bufio.Reader) (string, error) {
	if in.Buffered() == 0 {
		if err := conn.SetReadDeadline(time.Now().Add(s.opts.Timeout)); err != nil {
			return "", err
		}
	}
	line, err := in.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

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

// pick returns the server with the highest score for key. A score depends only on the name and the
// key, so a new server takes its share of the keys and nothing else moves. Changing the scores
// loses data.
func pick(servers []*server, key string) *server {
	if len(servers) == 1 {
		return servers[0]
	}
	hash := fnv1a(key)
	best, top := servers[0], uint64(0)
	for _, s := range servers {
		if score := scatter(hash ^ s.seed); score >= top {
			best, top = s, score
		}
	}
	return best
}

func fnv1a(text string) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(text) {
		hash = (hash ^ uint64(text[i])) * 1099511628211
	}
	return hash
}

// scatter is the last step of SplitMix64, and injective.
func scatter(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
