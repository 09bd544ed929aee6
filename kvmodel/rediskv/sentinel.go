package rediskv

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Sentinel configures the use of sentinels at [Options].Addrs.
type Sentinel struct {
	Master             string
	Username, Password string // at the sentinels; Options has those for the servers
}

// sentinels find the master of a group. All connections lead to one server, the last one named by
// most sentinels, and it has confirmed that it is a master.
type sentinels struct {
	line  line
	name  string
	every time.Duration

	mu     sync.Mutex // not held during a trip
	master string     // "" before the first connection
	held   map[*held]bool
}

type held struct {
	net.Conn
	by *sentinels
}

func (h *held) Close() error {
	h.by.mu.Lock()
	delete(h.by.held, h)
	h.by.mu.Unlock()
	return h.Conn.Close()
}

// askEvery is the interval of routine queries: a replaced master may not break its connections.
var askEvery = 5 * time.Second

func newSentinels(l line) *sentinels {
	return &sentinels{line: l, name: l.opts.Sentinel.Master, held: make(map[*held]bool), every: askEvery}
}

func (s *sentinels) dial(ctx context.Context, _ string) (net.Conn, error) {
	ctx, cancel := kv.Patient(ctx, s.line.opts.Patience)
	defer cancel()
	addr, err := s.ask(ctx)
	if err != nil {
		return nil, err
	}
	s.turnTo(addr)
	conn, err := s.line.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	if err := s.isMaster(ctx, conn); err != nil {
		conn.Close()
		return nil, fmt.Errorf("sentinel names %s as the master of %q: %w", addr, s.name, err)
	}
	return s.hold(conn, addr)
}

// turnTo sets the address of the master, and closes connections to another one.
func (s *sentinels) turnTo(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.master == addr {
		return
	}
	if s.master != "" {
		s.line.opts.Log.Warn("ringtree: the master has changed", "of", s.name, "was", s.master, "is", addr)
	}
	s.master = addr
	for h := range s.held {
		cutOff(h.Conn)
	}
	clear(s.held)
}

// cutOff closes conn without a TLS goodbye, which might block.
func cutOff(conn net.Conn) {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	_ = conn.Close()
}

func (s *sentinels) hold(conn net.Conn, addr string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.master != addr {
		cutOff(conn)
		return nil, fmt.Errorf("%s is no longer the master of %q", addr, s.name)
	}
	h := &held{conn, s}
	s.held[h] = true
	return h, nil
}

func (s *sentinels) isMaster(ctx context.Context, conn net.Conn) error {
	t := newTalk(conn)
	if err := t.logIn(ctx, s.line.opts.Username, s.line.opts.Password); err != nil {
		return err
	}
	answer, err := t.ask(ctx, "ROLE")
	if err != nil {
		return fmt.Errorf("ROLE: %w", err)
	}
	if list, _ := answer.([]any); len(list) == 0 || list[0] != "master" {
		return errors.New("it is a replica")
	}
	return conn.SetDeadline(time.Time{})
}

type named struct {
	addr  string
	epoch int64
	err   error
}

// ask returns the master of the latest epoch that most sentinels know: a minority may be cut off
// with a replaced master.
func (s *sentinels) ask(ctx context.Context) (string, error) {
	all := s.line.opts.Addrs
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan named, len(all))
	for _, addr := range all {
		go func() { answers <- s.askOne(ctx, addr) }()
	}
	best, good, errs := named{epoch: -1}, 0, []error(nil)
	for range all {
		a := <-answers
		if a.err != nil {
			errs = append(errs, a.err)
			continue
		}
		if good++; a.epoch > best.epoch {
			best = a
		}
		if good > len(all)/2 {
			break
		}
	}
	if good <= len(all)/2 {
		return "", fmt.Errorf("%d of %d sentinels name the master of %q, and a majority must: %w", good, len(all), s.name, kv.Join(errs...))
	}
	return best.addr, nil
}

func (s *sentinels) askOne(ctx context.Context, addr string) named {
	answer, err := s.askSentinel(ctx, addr, "MASTER")
	if err != nil {
		return named{err: fmt.Errorf("sentinel %s: %w", addr, err)}
	}
	of := pairs(answer)
	epoch, err := strconv.ParseInt(of["config-epoch"], 10, 64)
	if err != nil || of["ip"] == "" {
		return named{err: fmt.Errorf("sentinel %s: %w", addr, errReply)}
	}
	return named{addr: net.JoinHostPort(of["ip"], of["port"]), epoch: epoch}
}

func (s *sentinels) askSentinel(ctx context.Context, addr, command string) (any, error) {
	as := s.line.opts.Sentinel
	t, err := s.line.talkTo(ctx, addr, as.Username, as.Password)
	if err != nil {
		return nil, err
	}
	defer t.conn.Close()
	return t.ask(ctx, "SENTINEL", command, s.name)
}

// servers returns the master and its replicas that are not down, according to the first sentinel
// that answers.
func (s *sentinels) servers(ctx context.Context) ([]string, error) {
	master, err := s.ask(ctx)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, addr := range s.line.opts.Addrs {
		answer, err := s.askSentinel(ctx, addr, "REPLICAS")
		if err != nil {
			errs = append(errs, fmt.Errorf("sentinel %s: %w", addr, err))
			continue
		}
		all := []string{master}
		list, _ := answer.([]any)
		for _, replica := range list {
			if of := pairs(replica); !slices.Contains(strings.Split(of["flags"], ","), "s_down") {
				all = append(all, net.JoinHostPort(of["ip"], of["port"]))
			}
		}
		return all, nil
	}
	return nil, errors.Join(errs...)
}

func (s *sentinels) watch(quit <-chan struct{}) {
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	for {
		select {
		case <-quit:
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), s.every)
		if addr, err := s.ask(ctx); err == nil {
			s.turnTo(addr)
		}
		cancel()
	}
}
