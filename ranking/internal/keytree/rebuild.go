package keytree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/lease"
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
	b, err := t.lease(ctx, s)
	if err != nil {
		return err
	}
	if m.lost {
		err = t.fill(ctx, b, m, ids)
	} else {
		err = t.copyEpoch(ctx, b, ids)
	}
	if err != nil && !errors.As(err, new(*lossError)) {
		return err
	}
	return cmp.Or(err, b.Return(ctx, s))
}

// fill enters ids, and the members that writers put into the epochs before until they knew of the
// loss.
func (t *Tree) fill(ctx context.Context, b *building, m *meta, ids []string) error {
	if err := b.wait(ctx, graceTime); err != nil {
		return err
	}
	p := t.nodes(m, m.epoch)
	if err := t.enter(ctx, b, p, ids); err != nil {
		return err
	}
	entered := make(map[string]bool, len(ids))
	for _, id := range ids {
		entered[id] = true
	}
	last := func(entries []entry) error {
		others := slices.DeleteFunc(uniq(idsOf(entries)), func(id string) bool { return entered[id] })
		return t.enter(ctx, b, p, others)
	}
	for _, old := range m.old {
		if err := t.nodes(m, old).deleteAll(ctx, b, []string{""}, last); err != nil {
			return err
		}
	}
	m, err := t.step(ctx, b.s, m, meta{epoch: m.epoch})
	if err != nil {
		return err
	}
	return t.putEdge(ctx, b.s, edge{}, m)
}

func (t *Tree) copyEpoch(ctx context.Context, b *building, ids []string) error {
	m, err := t.beginCopy(ctx, b.s)
	if err != nil {
		return err
	}
	if err := b.wait(ctx, graceTime); err != nil {
		return err
	}
	if err := t.copyAll(ctx, b, t.nodes(m, m.epoch), t.nodes(m, m.other)); err != nil {
		return err
	}
	if err := t.enter(ctx, b, t.nodes(m, m.other), ids); err != nil {
		return err
	}
	if m, err = t.step(ctx, b.s, m, meta{epoch: m.other, phase: drained, other: m.epoch}); err != nil {
		return err
	}
	return t.endRebuild(ctx, b, m)
}

// endRebuild deletes the old epoch. Before writers leave it, the copy of the definition has to lead
// to the new one.
func (t *Tree) endRebuild(ctx context.Context, b *building, m *meta) error {
	if err := b.wait(ctx, graceTime); err != nil {
		return err
	}
	if err := t.putEdge(ctx, b.s, edge{}, m); err != nil {
		return err
	}
	old := m.other
	m, err := t.step(ctx, b.s, m, meta{epoch: m.epoch, phase: idle})
	if err != nil {
		return err
	}
	if err := b.wait(ctx, graceTime); err != nil {
		return err
	}
	return t.nodes(m, old).deleteAll(ctx, b, []string{""}, func([]entry) error { return nil })
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

func (t *Tree) copyAll(ctx context.Context, b *building, from, to *nodes) error {
	r := from.reading()
	err := r.scan(ctx, b.s, copiedAtOnce, func(ids []string) error { return t.enter(ctx, b, to, ids) })
	if err == nil && r.lost != nil {
		err = r.lost
	}
	return err
}

func (t *Tree) enter(ctx context.Context, b *building, p *nodes, ids []string) error {
	for batch := range slices.Chunk(ids, copiedAtOnce) {
		due := new(reports)
		if err := p.restore(ctx, b.s, batch, due); err != nil {
			return err
		}
		if err := p.report(ctx, b.s, due); err != nil {
			return err
		}
		if err := b.Renew(ctx, b.s); err != nil {
			return err
		}
	}
	return nil
}

// deleteAll deletes siblings, each after all nodes below it, once last was called with the entries
// of each leaf. There may be nodes below a lost one.
func (p *nodes) deleteAll(ctx context.Context, b *building, names []string, last func([]entry) error) error {
	got, err := p.get(ctx, b.s, names...)
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
			err = p.deleteAll(ctx, b, p.namesBelow([]string{name}), last)
		}
		if err != nil {
			return err
		}
		if !stored(got[i]) {
			continue
		}
		if _, err = kv.One(ctx, b.s, kv.OpDelete(p.key(name))); unlessAbsent(err) != nil {
			return err
		}
	}
	return b.Renew(ctx, b.s)
}

// building is a rebuild that holds the lease.
type building struct {
	*lease.Lease
	tree *Tree
	s    kv.Store
}

// lease returns ErrConflict if another process has the lease.
func (t *Tree) lease(ctx context.Context, s kv.Store) (*building, error) {
	token := frame.Whole(append([]byte(magic), append([]byte{leaseKind}, kv.RandomBytes(16)...)...))
	l := &lease.Lease{Key: t.leaseKey(), Token: token, TTL: times.Lease, Now: t.Now}
	mine, err := l.Take(ctx, s)
	if err == nil && !mine {
		err = fmt.Errorf("%w: another process is rebuilding the ranking %s", kv.ErrConflict, t.name)
	}
	return &building{l, t, s}, err
}

func (b *building) wait(ctx context.Context, d time.Duration) error {
	for end := b.tree.Now().Add(d); b.tree.Now().Before(end); {
		if err := sleep(ctx, b.s, min(d, times.Lease/8)); err != nil {
			return err
		}
		if err := b.Renew(ctx, b.s); err != nil {
			return err
		}
	}
	return nil
}
