package rediskv

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/ringtree/ringtree/internal/boot"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// bootKey holds the boot item of a single server. Callers cannot use keys with braces.
const bootKey = "ringtree{b}"

// newMemory uses one boot item on a single server, and on a cluster several, each for the master of
// its slot.
func (s *Store) newMemory() *boot.Memory {
	keys, names := []string{bootKey}, s.targets()
	if s.cluster {
		keys, names = clusterKeys(), nil
		for i := range keys {
			names = append(names, fmt.Sprint("slot:", i*spacing))
		}
	}
	return boot.New(boot.Config{
		Names: names,
		Fixed: true,
		Of: func(key string) int {
			if !s.cluster {
				return 0
			}
			before, _ := itemsOf(slotOf(key))
			return before
		},
		Do: func(ctx context.Context, ops []kv.Op) {
			s.doItems(ctx, ops, func(name string) string { return keys[slices.Index(names, name)] })
		},
	})
}

func (s *Store) doItems(ctx context.Context, ops []kv.Op, key func(name string) string) {
	items := slices.Clone(ops)
	pending := make([]*kv.Op, len(items))
	for i := range items {
		items[i].Key = key(ops[i].Key)
		pending[i] = &items[i]
	}
	s.fly(ctx, pending)
	for i := range items {
		ops[i].Result = items[i].Result
	}
}

// dial makes the boot items due for a check after a connection is made or breaks: the client
// replaces connections itself.
func (s *Store) dial(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
	// The connection is shared, so it must outlive the call that made it.
	conn, err := s.servers.Dial(context.WithoutCancel(ctx), addr)
	if err != nil {
		return nil, err
	}
	s.doubt()
	return &watched{conn, s}, nil
}

func (s *Store) doubt() {
	if m := s.memory.Load(); m != nil {
		m.Doubt()
	}
}

type watched struct {
	net.Conn
	store *Store
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if err != nil {
		w.store.doubt()
	}
	return n, err
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	if err != nil {
		w.store.doubt()
	}
	return n, err
}

func (w *watched) Close() error {
	w.store.doubt()
	return w.Conn.Close()
}

func (s *Store) flyMet(ctx context.Context, pending []*kv.Op) {
	m := s.memory.Load()
	doubts := m.Doubts()
	if pending = s.meet(ctx, pending, true); len(pending) == 0 {
		return
	}
	s.fly(ctx, pending)
	if m.Doubts() != doubts {
		// The answers may come from a server that was not checked.
		s.meet(ctx, slices.DeleteFunc(slices.Clone(pending), func(op *kv.Op) bool { return kv.Failed(op.Result.Err) }), false)
	}
}

// meet checks the servers of pending if that is due, and fails the ops on servers that have lost
// their memory or cannot be checked. It returns the others.
func (s *Store) meet(ctx context.Context, pending []*kv.Op, unsent bool) []*kv.Op {
	var unknown map[int]error
	if due := s.due(pending); due != 0 {
		unknown = s.look(ctx, due)
	}
	if unknown == nil && !s.anyLost(pending) {
		return pending
	}
	var met []*kv.Op
	for _, op := range pending {
		why, lost := s.standing(op, unknown)
		switch {
		case why == nil:
			met = append(met, op)
		case lost:
			op.Result = kv.Result{Err: s.lossError(why)}
		case unsent:
			s.refuse([]*kv.Op{op}, why, passes(why))
		default:
			s.lose([]*kv.Op{op}, why)
		}
	}
	return met
}

// passes reports whether another check may succeed: a server that refuses connections is not waited
// for.
func passes(err error) bool {
	f, failed := errors.AsType[*failure](err)
	return !failed || f.again
}

func (s *Store) serversOf(op *kv.Op, f func(i int, server *boot.Server)) {
	m := s.memory.Load()
	if !s.cluster {
		f(0, m.Server(0))
		return
	}
	before, after := itemsOf(slotOf(op.Key))
	f(before, m.Server(before))
	f(after, m.Server(after))
}

func (s *Store) due(ops []*kv.Op) (set uint64) {
	for _, op := range ops {
		s.serversOf(op, func(i int, server *boot.Server) {
			if _, look, _ := server.Known(); look {
				set |= 1 << i
			}
		})
		if !s.cluster {
			break
		}
	}
	return set
}

func (s *Store) anyLost(ops []*kv.Op) bool {
	if !s.cluster {
		ops = ops[:1]
	}
	return slices.ContainsFunc(ops, func(op *kv.Op) bool {
		why, _ := s.standing(op, nil)
		return why != nil
	})
}

func (s *Store) standing(op *kv.Op, unknown map[int]error) (why error, lost bool) {
	s.serversOf(op, func(i int, server *boot.Server) {
		_, _, err := server.Known()
		switch {
		case err != nil:
			why, lost = err, true
		case unknown[i] != nil && !lost:
			why = unknown[i]
		}
	})
	return why, lost
}

// maxLooks bounds the checks by one op, in case the boot item keeps changing.
const maxLooks = 8

var errRestless = errors.New("its boot item keeps changing")

func (s *Store) look(ctx context.Context, set uint64) map[int]error {
	m := s.memory.Load()
	unknown := map[int]error{}
	for range maxLooks {
		set = s.lookOnce(ctx, set, unknown)
		if set == 0 {
			return unknown
		}
		if err := m.Look(ctx); err != nil {
			return s.allUnknown(set, unknown, err)
		}
		for i := range len(m.Names) {
			if _, look, _ := m.Server(i).Known(); !look {
				set &^= 1 << i
			}
		}
		if set == 0 {
			return unknown
		}
	}
	return s.allUnknown(set, unknown, errRestless)
}

func (s *Store) lookOnce(ctx context.Context, set uint64, unknown map[int]error) (rest uint64) {
	m := s.memory.Load()
	var ops []kv.Op
	var at []int
	for i, name := range m.Names {
		if set&(1<<i) != 0 {
			ops, at = append(ops, kv.OpGet(name)), append(at, i)
		}
	}
	doubts := m.Doubts()
	m.Do(ctx, ops)
	for j, i := range at {
		r := ops[j].Result
		if kv.Failed(r.Err) {
			unknown[i] = r.Err
		} else if _, ok := m.Server(i).Saw(r, doubts); !ok {
			rest |= 1 << i
		}
	}
	return rest
}

func (s *Store) allUnknown(set uint64, unknown map[int]error, err error) map[int]error {
	for i := range itemsOfCluster {
		if set&(1<<i) != 0 {
			unknown[i] = err
		}
	}
	return unknown
}

func (s *Store) lossError(err error) error {
	if s.cluster {
		return fmt.Errorf("redis %s: %w", s.where, err)
	}
	return fmt.Errorf("redis %w", err)
}

// A cluster spreads keys over slots by the CRC-16 of the key, or of the part in its first braces.
const slots = 1 << 14

func slotOf(text string) int {
	crc := uint16(0)
	for i := range len(text) {
		crc = crc<<8 ^ crcTable()[byte(crc>>8)^text[i]]
	}
	return int(crc % slots)
}

var crcTable = sync.OnceValue(func() *[256]uint16 {
	table := new([256]uint16)
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
})

// A cluster has a boot item in every spacing-th slot, so each master with that many in a row holds
// one.
const (
	itemsOfCluster = 64
	spacing        = slots / itemsOfCluster
)

var clusterKeys = sync.OnceValue(func() []string {
	keys := make([]string, itemsOfCluster)
	for n, found := 0, 0; found < len(keys); n++ {
		tag := "b" + strconv.Itoa(n)
		if slot := slotOf(tag); slot%spacing == 0 && keys[slot/spacing] == "" {
			keys[slot/spacing] = "ringtree{" + tag + "}"
			found++
		}
	}
	return keys
})

// itemsOf returns the boot items on both sides of a slot: its master is likely to hold one.
func itemsOf(slot int) (before, after int) {
	before = slot / spacing
	return before, (before + 1) % itemsOfCluster
}
