// Package boot notices when a server has lost its memory, for stores on servers.
//
// Every server has an item with the same table, so that each is a witness of all others. A process
// reads a server's item before its first op on a new connection, and periodically. The steps of the
// protocol are functions of a pass over all items; [Memory] carries them out.
package boot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const maxPasses = 64

type Config struct {
	Names []string

	// Fixed: the names stand for parts of one store and never change.
	Fixed bool

	// Do carries out ops on the items of the servers that their keys name.
	Do func(ctx context.Context, ops []kv.Op)

	Of func(key string) int

	// Passed, which may be nil, ends a series of Do calls. Versions must be valid within the
	// series.
	Passed func()
}

// Memory is a process's knowledge of the memory of a store's servers. It is safe for concurrent
// use.
type Memory struct {
	Config
	servers []*Server
	number  func() uint64
	turn    chan struct{}
	passes  atomic.Int64 // passes that ended, except with the context
	failed  error        // error of the last of them; guarded by turn
	doubts  atomic.Uint64

	known atomic.Pointer[Table] // changed only with mu held

	mu      sync.Mutex // not held during a trip
	watches []func(servers []string, err error)
}

func New(c Config) *Memory {
	m := &Memory{Config: c, turn: make(chan struct{}, 1), number: func() uint64 { return kv.Random() | 1 }}
	for _, name := range c.Names {
		s := &Server{Name: name, memory: m}
		s.state.Store(new(state))
		m.servers = append(m.servers, s)
	}
	m.known.Store(new(Table))
	return m
}

func (m *Memory) Server(i int) *Server { return m.servers[i] }

type Server struct {
	Name   string
	memory *Memory
	state  atomic.Pointer[state]
}

type state struct {
	number uint64 // of its memory; 0: not known
	lost   error
	due    time.Time
	doubt  uint64
}

// Doubt makes the next op on every server read its item first, since a connection was lost or made.
func (m *Memory) Doubt() { m.doubts.Add(1) }

// Doubts returns how often Doubt was called. Answers received while it changed may come from a
// server that was not checked.
func (m *Memory) Doubts() uint64 { return m.doubts.Load() }

// Known returns the number of the server's memory, and whether its item must be read before the
// next op. The error is an ErrLost.
func (s *Server) Known() (number uint64, look bool, err error) {
	st := s.state.Load()
	if st.number == 0 && st.lost == nil || st.doubt != s.memory.Doubts() || !time.Now().Before(st.due) {
		return st.number, true, nil
	}
	return st.number, false, st.lost
}

// Saw handles a get of the server's item that began after doubts. It returns the number of its
// memory, and false if that has changed: then call Look, and read again.
func (s *Server) Saw(r kv.Result, doubts uint64) (number uint64, ok bool) {
	seen := read(s.Name, r)
	st, it := s.state.Load(), seen.Item
	m := s.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	ok = seen.Version != 0 && seen.Err == nil && st.lost == nil && it.Level == confirmed &&
		it.Table == m.table() && it.Number != 0 && (st.number == 0 || st.number == it.Number) &&
		(it.Name == s.Name || len(m.servers) == 1)
	if ok {
		s.state.CompareAndSwap(st, &state{number: it.Number, due: time.Now().Add(times.Look), doubt: doubts})
	}
	return it.Number, ok
}

func read(name string, r kv.Result) Seen {
	seen := Seen{Name: name, Version: r.Version}
	switch {
	case errors.Is(r.Err, kv.ErrNotFound):
		return seen
	case r.Err != nil:
		seen.Err = r.Err
		return seen
	}
	if seen.Item, seen.Err = decode(r.Value); seen.Err != nil {
		seen.Err = kv.Unavailable(fmt.Errorf("%s: its boot item cannot be read: %w", name, seen.Err))
	}
	return seen
}

// Look reads all items, finishes steps that others left unfinished, and records losses. It returns
// an ErrUnavailable if the state cannot be determined now. Concurrent calls share one pass.
func (m *Memory) Look(ctx context.Context) error {
	before := m.passes.Load()
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	if m.passes.Load() > before {
		return m.failed
	}
	err := m.pass(ctx, m.table())
	if ctx.Err() == nil {
		m.failed = err
		m.passes.Add(1)
	}
	return err
}

func (m *Memory) begin(ctx context.Context) error {
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return kv.Unavailable(ctx.Err())
	}
}

func (m *Memory) end() {
	if m.Passed != nil {
		m.Passed()
	}
	<-m.turn
}

func (m *Memory) table() Table { return *m.known.Load() }

var errBusy = errors.New("other processes keep changing its boot items")

func (m *Memory) pass(ctx context.Context, known Table) error {
	var last []Seen
	for range maxPasses {
		doubts := m.Doubts()
		seen := m.get(ctx)
		if err := silence(seen); err != nil {
			return err
		}
		v, o, ops, err := step(m.named(), last, seen, known, m.number)
		switch {
		case err != nil:
			return kv.Unavailable(err)
		case o == again:
			last = seen
			continue
		case o != writes:
			m.keep(v, seen, doubts)
			return nil
		}
		if err := m.put(ctx, ops); err != nil {
			return err
		}
		last = nil
	}
	return kv.Unavailable(errBusy)
}

func (m *Memory) named() []string {
	if m.Fixed {
		return nil
	}
	return m.Names
}

func silence(seen []Seen) error {
	if slices.ContainsFunc(seen, func(s Seen) bool { return s.Err == nil }) {
		return nil
	}
	return seen[0].Err
}

func (m *Memory) get(ctx context.Context) []Seen {
	ops := make([]kv.Op, len(m.Names))
	for i, name := range m.Names {
		ops[i] = kv.OpGet(name)
	}
	m.Do(ctx, ops)
	seen := make([]Seen, len(ops))
	for i := range ops {
		seen[i] = read(ops[i].Key, ops[i].Result)
	}
	return seen
}

// put sends the first of ops and, if that succeeds, the others. After an error another pass would
// be pointless.
func (m *Memory) put(ctx context.Context, ops []kv.Op) error {
	for _, part := range [][]kv.Op{ops[:1], ops[1:]} {
		if len(part) == 0 {
			return nil
		}
		m.Do(ctx, part)
		for i := range part {
			err := part[i].Result.Err
			switch {
			case kv.Raced(err):
				return nil
			case errors.Is(err, kv.ErrUnclear) && ctx.Err() == nil:
				return nil
			case errors.Is(err, kv.ErrUnclear):
				return kv.Unavailable(ctx.Err())
			case err != nil:
				return err
			}
		}
	}
	return nil
}

func (m *Memory) keep(v verdict, seen []Seen, doubts uint64) {
	m.mu.Lock()
	known := m.table()
	accepted := known.Edition > 0 && v.table.Edition > known.Edition && len(v.moved) == 0
	if known.Edition == 0 || accepted {
		m.known.Store(&v.table)
	}
	var found, forgiven []string
	due := time.Now().Add(times.Look)
	for i, s := range m.servers {
		if seen[i].Err != nil {
			continue
		}
		was := s.state.Load()
		is := &state{number: seen[i].Item.Number, lost: m.loss(v, i), due: due, doubt: doubts}
		s.state.Store(is)
		switch {
		case is.lost != nil && was.lost == nil:
			found = append(found, s.Name)
		case is.lost == nil && (was.lost != nil || accepted && was.number != is.number):
			forgiven = append(forgiven, s.Name)
		}
	}
	watches := slices.Clone(m.watches)
	m.mu.Unlock()
	for _, watch := range watches {
		if len(found) > 0 {
			watch(found, kv.Join(m.Lost()...))
		}
		if len(forgiven) > 0 {
			watch(forgiven, nil)
		}
	}
}

func (m *Memory) loss(v verdict, i int) error {
	switch {
	case len(v.moved) > 0:
		return fmt.Errorf("%w: the store has other servers: %s, so some keys now belong to a server without their data", kv.ErrLost, strings.Join(v.moved, ", "))
	case v.lost[i] != "":
		return fmt.Errorf("%s: %w: %s", m.Names[i], kv.ErrLost, v.lost[i])
	}
	return nil
}

// GoneBack implements kv.Losses. The server's item says so until an Accept.
func (m *Memory) GoneBack(ctx context.Context, key string) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	i := m.Of(key)
	seen := m.get(ctx)[i]
	if seen.Err != nil {
		return seen.Err
	}
	if seen.Version != 0 && seen.Item.Number != 0 {
		seen.Item.Number = 0
		if err := m.put(ctx, []kv.Op{seen.write(seen.Item)}); err != nil {
			return err
		}
	}
	return m.pass(ctx, m.table())
}

func (m *Memory) Lost() (all []error) {
	for _, s := range m.servers {
		if err := s.state.Load().lost; err != nil {
			all = append(all, err)
		}
	}
	return all
}

func (m *Memory) Edition() (number, id uint64) {
	t := m.known.Load()
	return t.Edition, t.ID
}

func (m *Memory) Watch(f func(servers []string, err error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watches = append(m.watches, f)
}
