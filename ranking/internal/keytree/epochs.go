package keytree

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type epochs struct {
	read  *nodes // nil: no such tree yet
	write []*nodes
	lost  bool // until a rebuild
}

// epochs begins an operation. beside runs in the trip that reads the definition. A writer creates
// the tree.
func (t *Tree) epochs(ctx context.Context, s kv.Store, writes bool, beside ...func(kv.Store) error) (*epochs, error) {
	began := t.Now()
	m, err := t.definition(ctx, s, beside)
	if err == nil && m == nil && writes {
		m, err = t.create(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	return t.epochsOf(m, began), nil
}

func (t *Tree) definition(ctx context.Context, s kv.Store, beside []func(kv.Store) error) (*meta, error) {
	if m := t.known(s); m != nil {
		return m, together(ctx, s, beside...)
	}
	var m *meta
	works := append(beside[:len(beside):len(beside)], func(s kv.Store) (err error) { m, err = t.readMeta(ctx, s); return err })
	err := together(ctx, s, works...)
	return m, err
}

func (t *Tree) epochsOf(m *meta, began time.Time) *epochs {
	if m == nil {
		return &epochs{}
	}
	read := t.nodes(m, m.epoch)
	read.began = began
	ep := &epochs{read: read, write: []*nodes{read}, lost: m.lost}
	if m.phase != idle {
		other := t.nodes(m, m.other)
		other.began = began
		ep.write = append(ep.write, other)
	}
	return ep
}

const beginTries = 8

// begin does work as a writer, again if the epochs were out of date or one has lost a node.
func (t *Tree) begin(ctx context.Context, s kv.Store, work func(*epochs) error, beside ...func(kv.Store) error) error {
	var err error
	for range beginTries {
		var ep *epochs
		if ep, err = t.epochs(ctx, s, true, beside...); err != nil {
			return err
		}
		var loss *lossError
		switch err = work(ep); {
		case errors.As(err, &loss):
			t.forget()
			if err := t.distrust(ctx, s, loss.epoch); err != nil && !again(err) {
				return err
			}
		case errors.Is(err, errLate):
			t.forget()
		default:
			return err
		}
	}
	return err
}

// Distrust returns the epoch that a rebuild has to fill after a loss, or 0. If err, of another
// call, says that a node is missing, it checks that and moves the tree on.
func (t *Tree) Distrust(ctx context.Context, s kv.Store, err error) (epoch uint64, _ error) {
	var loss *lossError
	if errors.As(err, &loss) {
		err := t.begin(ctx, s, func(ep *epochs) error {
			at := slices.IndexFunc(ep.write, func(p *nodes) bool { return p.epoch == loss.epoch })
			if at < 0 {
				return nil
			}
			return unlessAgain(ep.write[at].loss(ctx, s, loss.name))
		})
		if err != nil {
			return 0, err
		}
	}
	m, err := t.readMeta(ctx, s)
	if m == nil || err != nil || !m.lost {
		return 0, err
	}
	return m.epoch, nil
}
