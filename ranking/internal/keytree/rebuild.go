package keytree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A rebuild copies a tree into a new epoch, without empty nodes, while the tree is read and
// written. If the tree has lost a node, it fills the epoch in which writers already go on.
//
// After each step it waits until every operation that began before has ended: an operation uses
// only a young definition, and does not write if it has taken too long. While a copy is made,
// writers add every entry to both epochs before the record is written, so an entry that the copy
// does not see was added by its writer. A process that slept for longer checks, once its record is
// written, whether the epochs of that time have the entry.

const graceTime = times.Definition + times.Change

const copiedAtOnce = 4 * entryLimit

func (t *Tree) leaseKey() string { return t.name + ":lease" }

// Rebuild copies the tree into a new epoch, and adds missing members of ids, in 45 seconds more
// than the copying. After a loss, Distrust must have returned the epoch lost before ids, all
// members, were read; otherwise it is an ErrNeedsRebuild. ErrConflict: another process is
// rebuilding the tree, or something was lost just then.
func (t *Tree) Rebuild(ctx context.Context, s kv.Store, ids []string, lost uint64) error {
	m, err := t.readMeta(ctx, s)
	switch {
	case m == nil || err != nil:
		return err
	case m.lost && m.epoch != lost:
		return t.errLost("a part")
	}
	l := &lease{tree: t, s: s}
	if err := l.acquire(ctx); err != nil {
		return err
	}
	if m.lost {
		err = t.fill(ctx, l, m, ids)
	} else {
		err = t.copyEpoch(ctx, l, ids)
	}
	if err != nil && !errors.As(err, new(*lossError)) {
		return err
	}
	return cmp.Or(err, l.release(ctx))
}

// fill enters ids, and the members that writers put into the epochs before until they knew of the
// loss.
func (t *Tree) fill(ctx context.Context, l *lease, m *meta, ids []string) error {
	if err := l.wait(ctx, graceTime); err != nil {
		return err
	}
	p := t.nodes(m, m.epoch)
	if err := t.enter(ctx, l, p, ids); err != nil {
		return err
	}
	entered := make(map[string]bool, len(ids))
	for _, id := range ids {
		entered[id] = true
	}
	last := func(entries []entry) error {
		others := slices.DeleteFunc(uniq(idsOf(entries)), func(id string) bool { return entered[id] })
		return t.enter(ctx, l, p, others)
	}
	for _, old := range m.old {
		if err := t.nodes(m, old).deleteAll(ctx, l, []string{""}, last); err != nil {
			return err
		}
	}
	m, err := t.step(ctx, l.s, m, meta{epoch: m.epoch})
	if err != nil {
		return err
	}
	return t.putEdge(ctx, l.s, edge{}, m)
}

func (t *Tree) copyEpoch(ctx context.Context, l *lease, ids []string) error {
	m, err := t.beginCopy(ctx, l.s)
	if err != nil {
		return err
	}
	if err := l.wait(ctx, graceTime); err != nil {
		return err
	}
	if err := t.copyAll(ctx, l, t.nodes(m, m.epoch), t.nodes(m, m.other)); err != nil {
		return err
	}
	if err := t.enter(ctx, l, t.nodes(m, m.other), ids); err != nil {
		return err
	}
	if m, err = t.step(ctx, l.s, m, meta{epoch: m.other, phase: drained, other: m.epoch}); err != nil {
		return err
	}
	return t.endRebuild(ctx, l, m)
}

// endRebuild deletes the old epoch. Before writers leave it, the copy of the definition has to lead
// to the new one.
func (t *Tree) endRebuild(ctx context.Context, l *lease, m *meta) error {
	if err := l.wait(ctx, graceTime); err != nil {
		return err
	}
	if err := t.putEdge(ctx, l.s, edge{}, m); err != nil {
		return err
	}
	old := m.other
	m, err := t.step(ctx, l.s, m, meta{epoch: m.epoch, phase: idle})
	if err != nil {
		return err
	}
	if err := l.wait(ctx, graceTime); err != nil {
		return err
	}
	return t.nodes(m, old).deleteAll(ctx, l, []string{""}, func([]entry) error { return nil })
}

func (t *Tree) beginCopy(ctx context.Context, s kv.Store) (*meta, error) {
	m, err := t.readMeta(ctx, s)
	if m == nil || err != nil {
		return nil, errors.Join(err, errAgain)
	}
	switch m.phase {
	case copying:
		return m, nil
	case drained:
		// The last rebuild died in this phase; its old epoch stays as garbage.
		if m, err = t.step(ctx, s, m, meta{epoch: m.epoch, phase: idle}); err != nil {
			return nil, err
		}
	}
	next := max(m.epoch, uint64(t.Now().UnixMilli())) + 1
	if err := t.addRoot(ctx, s, m, next); err != nil {
		return nil, err
	}
	return t.step(ctx, s, m, meta{epoch: m.epoch, phase: copying, other: next})
}

func (t *Tree) step(ctx context.Context, s kv.Store, m *meta, to meta) (*meta, error) {
	next := *m
	next.epoch, next.phase, next.other, next.lost, next.old = to.epoch, to.phase, to.other, false, nil
	err := t.writeMeta(ctx, s, m, &next)
	if err != nil && !again(err) {
		return nil, err
	}
	there, err := t.readMeta(ctx, s)
	if err != nil {
		return nil, err
	}
	if there == nil || there.epoch != to.epoch || there.phase != to.phase || there.other != to.other || there.lost {
		return nil, fmt.Errorf("%w: another process is rebuilding the ranking %s", kv.ErrConflict, t.name)
	}
	return there, nil
}

func (t *Tree) copyAll(ctx context.Context, l *lease, from, to *nodes) error {
	r := from.reading()
	err := r.scan(ctx, l.s, copiedAtOnce, func(ids []string) error { return t.enter(ctx, l, to, ids) })
	if err == nil && r.lost != nil {
		err = r.lost
	}
	return err
}

func (t *Tree) enter(ctx context.Context, l *lease, p *nodes, ids []string) error {
	for batch := range slices.Chunk(ids, copiedAtOnce) {
		due := new(reports)
		if err := p.restore(ctx, l.s, batch, due); err != nil {
			return err
		}
		if err := p.report(ctx, l.s, due); err != nil {
			return err
		}
		if err := l.renew(ctx); err != nil {
			return err
		}
	}
	return nil
}

// deleteAll deletes siblings, each after all nodes below it, once last was called with the entries
// of each leaf. There may be nodes below a lost one.
func (p *nodes) deleteAll(ctx context.Context, l *lease, names []string, last func([]entry) error) error {
	got, err := p.get(ctx, l.s, names...)
	if err != nil {
		return err
	}
	stored := func(nd node) bool { return nd.version != 0 }
	if names[0] != "" && !slices.ContainsFunc(got, stored) {
		return nil
	}
	for i, name := range names {
		if got[i].leaf != nil {
			err = last(got[i].leaf.entries)
		} else if p.splits(name) {
			err = p.deleteAll(ctx, l, p.namesBelow([]string{name}), last)
		}
		if err != nil {
			return err
		}
		if !stored(got[i]) {
			continue
		}
		if _, err = kv.One(ctx, l.s, kv.OpDelete(p.key(name))); unlessAbsent(err) != nil {
			return err
		}
	}
	return l.renew(ctx)
}

type lease struct {
	tree  *Tree
	s     kv.Store
	mine  []byte
	since time.Time
}

func (l *lease) acquire(ctx context.Context) error {
	l.mine = frame.Whole(append([]byte(magic), append([]byte{leaseKind}, kv.RandomBytes(16)...)...))
	l.since = l.tree.Now()
	_, err := kv.One(ctx, l.s, kv.OpAdd(l.tree.leaseKey(), l.mine).For(times.Lease))
	if errors.Is(err, kv.ErrExists) {
		return fmt.Errorf("%w: another process is rebuilding the ranking %s", kv.ErrConflict, l.tree.name)
	}
	return err
}

// ErrConflict: the lease has expired.
func (l *lease) renew(ctx context.Context) error {
	if l.tree.Now().Sub(l.since) < times.Lease/4 {
		return nil
	}
	l.since = l.tree.Now()
	r, err := kv.One(ctx, l.s, kv.OpGet(l.tree.leaseKey()))
	if err != nil || string(r.Value) != string(l.mine) {
		return errors.Join(err, fmt.Errorf("%w: the lease of the rebuild has ended", kv.ErrConflict))
	}
	_, err = kv.One(ctx, l.s, kv.OpSwap(l.tree.leaseKey(), r.Version, l.mine).For(times.Lease))
	return err
}

func (l *lease) release(ctx context.Context) error {
	r, err := kv.One(ctx, l.s, kv.OpGet(l.tree.leaseKey()))
	if err != nil || string(r.Value) != string(l.mine) {
		return nil
	}
	_, err = kv.One(ctx, l.s, kv.OpDrop(l.tree.leaseKey(), r.Version))
	if kv.Raced(err) {
		return nil
	}
	return err
}

func (l *lease) wait(ctx context.Context, d time.Duration) error {
	for end := l.tree.Now().Add(d); l.tree.Now().Before(end); {
		if err := sleep(ctx, l.s, min(d, times.Lease/8)); err != nil {
			return err
		}
		if err := l.renew(ctx); err != nil {
			return err
		}
	}
	return nil
}
