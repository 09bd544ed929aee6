package kvtest

import (
	"context"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func (p *process) atomic(ctx context.Context, f func(kv.Store) error) error {
	r, err := p.turn(ctx)
	if err != nil {
		return err
	}
	defer p.sim.transactionEnded()
	var wrote []string
	err = kv.PowersOf(p.sim.store).Atomic(ctx, func(mem kv.Store) error {
		in := &inside{process: p, mem: mem}
		err := f(in)
		wrote = in.wrote
		switch {
		case p.crashed():
			return errCrashed
		case err == nil && r.full && in.stores:
			return errFull
		case err == nil:
			return r.commitErr
		}
		return err
	})
	for _, key := range wrote {
		p.sim.changed(key)
	}
	if err == nil {
		return r.afterErr
	}
	return err
}

func (p *process) turn(ctx context.Context) (*request, error) {
	if err := p.gone(ctx); err != nil {
		return nil, err
	}
	r := &request{from: p, ctx: ctx, left: 1, atomic: true, done: make(chan struct{})}
	p.sim.await(r)
	return r, r.err
}

const walkedAtOnce = 3

func (p *process) walk(ctx context.Context, begin, after string, f func([]string) error) error {
	for {
		r, err := p.turn(ctx)
		if err != nil {
			return err
		}
		keys := slices.DeleteFunc(p.sim.mem.Keys(), func(key string) bool { return !strings.HasPrefix(key, begin) || key <= after })
		p.sim.transactionEnded()
		switch {
		case p.crashed():
			return errCrashed
		case r.commitErr != nil || r.afterErr != nil:
			return errUnread
		case len(keys) == 0:
			return nil
		}
		keys = keys[:min(len(keys), walkedAtOnce)]
		if err := f(keys); err != nil {
			return err
		}
		after = keys[len(keys)-1]
	}
}

type inside struct {
	*process
	mem    kv.Store
	stores bool // it has stored a value
	wrote  []string
}

func (in *inside) Do(ctx context.Context, ops []kv.Op) error {
	if kv.Check(ops, in.Powers()) == 0 {
		return nil
	}
	if in.crashed() {
		return kv.Fail(ops, errCrashed)
	}
	err := in.mem.Do(ctx, ops)
	for i := range ops {
		in.stores = in.stores || Full.Stops(ops[i].Kind)
		if ops[i].Kind.Writes() {
			in.wrote = append(in.wrote, ops[i].Key)
		}
		in.sim.noteOp(in.name, &ops[i], "atomically ")
	}
	return err
}

func (in *inside) Close() error { return nil }

func (in *inside) Powers() kv.Powers { return kv.PowersOf(in.mem) }

func (s *Sim) transactionEnded() {
	s.mu.Lock()
	s.transactions--
	s.mu.Unlock()
	s.stir()
}
