package memcachekv

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/contact"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func (s *Store) findings(ctx context.Context) []kv.Finding {
	ctx, cancel := context.WithTimeout(ctx, contact.FindingTime)
	defer cancel()
	return slices.Concat(askEach(s, func(srv *server) []kv.Finding { return srv.findings(ctx) })...)
}

func askEach[T any](s *Store, ask func(*server) T) []T {
	answers := make([]T, len(s.servers))
	var wait sync.WaitGroup
	for i, srv := range s.servers {
		wait.Go(func() { answers[i] = ask(srv) })
	}
	wait.Wait()
	return answers
}

func (s *server) findings(ctx context.Context) []kv.Finding {
	t, err := s.told(ctx)
	if err != nil {
		return []kv.Finding{kv.Find(kv.Unknown, "a server could not be checked: %s: %v", s.addr, err)}
	}
	return t.judge(s.addr)
}

type told struct {
	settings, stats map[string]string
	asked           time.Time
	took            time.Duration
}

func (s *server) told(ctx context.Context) (t told, err error) {
	err = s.talk(ctx, func(conn io.Writer, in *bufio.Reader) error {
		if t.settings, err = askStats(conn, in, "stats settings"); err != nil {
			return err
		}
		t.asked = time.Now()
		t.stats, err = askStats(conn, in, "stats")
		t.took = time.Since(t.asked)
		return err
	})
	return t, err
}

func (s *server) talk(ctx context.Context, ask func(conn io.Writer, in *bufio.Reader) error) error {
	if s.isClosed() {
		return errClosed
	}
	conn, err := s.connect(ctx, s.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	return ask(conn, bufio.NewReader(conn))
}

// askStats returns nothing if the server, or a proxy, does not know the command.
func askStats(conn io.Writer, in *bufio.Reader, command string) (map[string]string, error) {
	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		return nil, err
	}
	found := make(map[string]string)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "STAT ")
		if !ok {
			return found, nil
		}
		name, value, _ := strings.Cut(rest, " ")
		found[name] = value
	}
}

// smallestItem is the item limit that fits any value.
const smallestItem = 1 << 20

func (t *told) judge(addr string) (all []kv.Finding) {
	var unsaid []string
	find := func(is kv.Verdict, format string, args ...any) {
		all = append(all, kv.Find(is, addr+": "+format, args...))
	}
	number := func(of map[string]string, name string) (n int64, known bool) {
		n, err := strconv.ParseInt(of[name], 10, 64)
		if err != nil {
			unsaid = append(unsaid, name)
		}
		return n, err == nil
	}
	dropped, _ := number(t.stats, "evictions")
	switch t.settings["evictions"] {
	case "on":
		find(kv.Hurts, "it drops items when its memory is full, %d so far: start it with -M", dropped)
	case "off":
		find(kv.Fine, "it refuses writes when its memory is full, and drops nothing (-M)")
	default:
		unsaid = append(unsaid, "whether it evicts")
	}
	if most, known := number(t.settings, "item_size_max"); known && most < smallestItem {
		find(kv.Hurts, "it accepts items of up to %d bytes, but records and indexes may need 1 MiB: start it with -I 1m", most)
	}
	used, known := number(t.stats, "bytes")
	if limit, limited := number(t.settings, "maxbytes"); known && limited && limit > 0 {
		all = append(all, contact.FindMemory(addr, "-m", used, limit))
	}
	if seconds, known := number(t.stats, "time"); known {
		half := time.Second / 2 // It reports whole seconds.
		ahead := time.Unix(seconds, 0).Add(half).Sub(t.asked.Add(t.took / 2))
		all = append(all, contact.FindClock(addr, ahead, t.took/2+half))
	}
	if !contact.IsLocal(addr) {
		find(kv.Hurts, "it is used over a network without TLS and password, so anyone there can read and change everything: close the network to others")
	}
	if len(unsaid) > 0 {
		find(kv.Unknown, "it does not report %s, so that could not be checked: check how it was started, and whether a proxy is in between", strings.Join(unsaid, ", "))
	}
	return all
}
