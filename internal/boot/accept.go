package boot

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Accept implements kv.Losses. If the store was not used yet, it looks first.
func (m *Memory) Accept(ctx context.Context) (servers []string, err error) {
	err = m.inTurn(ctx, func() error {
		if servers = m.lostNames(); len(servers) == 0 {
			return nil
		}
		for range maxPasses {
			moved, done, err := m.accept(ctx)
			if len(moved) > 0 {
				servers = moved
			}
			if done || err != nil {
				return err
			}
		}
		servers = nil
		return kv.Unavailable(errBusy)
	})
	return servers, err
}

func (m *Memory) inTurn(ctx context.Context, f func() error) error {
	if m.table() == (Table{}) {
		if err := m.Look(ctx); err != nil {
			return err
		}
	}
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	return f()
}

// Renew implements kv.Losses. No server knows the edition of the former store, so the new one is
// named by the time. If a clock has gone back, processes that know a later edition continue to
// return ErrLost.
func (m *Memory) Renew(ctx context.Context) error {
	return m.inTurn(ctx, func() error {
		if len(m.lostNames()) > 0 {
			return kv.Join(m.Lost()...)
		}
		was := m.table()
		edition := max(was.Edition+1, uint64(time.Now().Unix()))
		for range maxPasses {
			seen, err := m.still(ctx)
			if err != nil {
				return err
			}
			if seen == nil {
				continue
			}
			v := judge(m.named(), seen, Table{})
			switch {
			case !v.lossless():
				return kv.Unavailable(errBusy)
			case v.table.Edition > was.Edition:
				return m.learn(ctx)
			}
			if err := m.replace(ctx, v, seen, edition); err != nil {
				return err
			}
		}
		return kv.Unavailable(errBusy)
	})
}

func (m *Memory) lostNames() (names []string) {
	for _, s := range m.servers {
		if s.state.Load().lost != nil {
			names = append(names, s.Name)
		}
	}
	return names
}

func (m *Memory) accept(ctx context.Context) (moved []string, done bool, err error) {
	seen, err := m.still(ctx)
	if seen == nil || err != nil {
		return nil, false, err
	}
	v := judge(m.named(), seen, Table{})
	if v.table == (Table{}) {
		v = judge(m.named(), seen, m.table())
	}
	if v.lossless() {
		// Others have accepted it, or have begun a store there.
		err := m.learn(ctx)
		return nil, err == nil, err
	}
	if err := stale(v, seen); err != nil {
		return nil, false, err
	}
	return v.moved, false, m.replace(ctx, v, seen, v.table.Edition+1)
}

func (m *Memory) learn(ctx context.Context) error {
	m.forget()
	return m.pass(ctx, Table{})
}

func (m *Memory) replace(ctx context.Context, v verdict, seen []Seen, edition uint64) error {
	next := newTable(edition, m.number(), m.named())
	if err := m.put(ctx, v.propose(seen, next)); err != nil {
		return err
	}
	return m.putThrough(ctx, next)
}

func (m *Memory) putThrough(ctx context.Context, next Table) error {
	ops := confirmation(m.get(ctx), next, m.number)
	if len(ops) == 0 {
		return nil
	}
	return m.put(ctx, ops)
}

func confirmation(seen []Seen, next Table, number func() uint64) []kv.Op {
	for _, s := range seen {
		if s.Version == 0 || s.Item.Next != next {
			return nil
		}
	}
	v := verdict{table: next}
	return v.putThrough(seen, number)
}

// still returns two equal passes in a row, or nil.
func (m *Memory) still(ctx context.Context) ([]Seen, error) {
	last, seen := m.get(ctx), m.get(ctx)
	for _, s := range seen {
		if s.Err != nil {
			return nil, s.Err
		}
	}
	if !same(last, seen) {
		return nil, nil
	}
	return seen, nil
}

// stale returns an error if an added server still holds its data from before it was removed.
func stale(v verdict, seen []Seen) error {
	for _, s := range seen {
		was := slices.Contains(strings.Split(v.table.Names, ","), s.Name)
		if !was && len(v.moved) > 0 && s.Version != 0 && s.Item.Number != 0 {
			return fmt.Errorf("%s: %w: it was added again with the data from before its removal: flush it first", s.Name, kv.ErrLost)
		}
	}
	return nil
}

func (m *Memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known.Store(new(Table))
}
