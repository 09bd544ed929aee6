package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The children of a record are those that are in certain lists under its id. When it is
// deleted they are, too: after the reply, some at a time, each as by Delete. The line of
// the deletion stays open until then, so that another process goes on after a crash.
//
// A child whose change was under way when the record was deleted may come to a list after
// it was read. So on a store without transactions, the lists are read once more when no
// such change can commit any more.

const (
	childrenAtOnce = 100              // that are deleted in the trips of one
	childrenTime   = 10 * time.Second // after which others have their turn
	childrenSettle = maxAge + 5*time.Second
)

// Cascade is a deletion whose children are still to be deleted.
type Cascade struct {
	Model, ID string // of the record that was deleted; the text of its id
	Deleted   int    // children, so far, by this process
}

// errChildren: there are more children to be deleted.
var errChildren = fmt.Errorf("%w: children are still to be deleted", work.ErrNotYet)

// deleteChildren deletes the children of the record id, which was deleted at since, unless
// it was made again. It returns an ErrNotYet if it has to be called again.
func (m *model[T]) deleteChildren(ctx context.Context, id string, since time.Time) error {
	if len(m.children) == 0 {
		return nil
	}
	rec, err := m.readable(ctx, m.db.store, id)
	if err != nil {
		return err
	}
	if rec.Envelope.Live() {
		m.db.cascades.end(m.name, id)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, childrenTime)
	defer cancel()
	var errs []error
	for _, list := range m.children {
		errs = append(errs, m.deleteIn(ctx, list, id))
	}
	err = work.FirstError(errs...)
	if err == nil && m.db.atomic == nil && m.db.now().Sub(since) < childrenSettle {
		return errChildren
	}
	if err == nil {
		m.db.cascades.end(m.name, id)
	}
	return err
}

// deleteIn deletes the records that are in a list, MODEL.INDEX, under id.
func (m *model[T]) deleteIn(ctx context.Context, list, id string) error {
	name, index, _ := strings.Cut(list, ".")
	child := m.db.DB.model(name)
	if child == nil {
		return m.failure(id, fmt.Errorf("its children in %s stay, since this process does not have the model %s", list, name))
	}
	err := child.deleteUnder(ctx, index, id, func(n int) { m.db.cascades.count(m.name, id, n) })
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errChildren
	}
	return err
}

// deleteUnder deletes the records that are in an index at place, and calls deleted with
// how many now and then. In between others have the store for as long.
func (m *model[T]) deleteUnder(ctx context.Context, name, place string, deleted func(n int)) error {
	index, ok := m.index(name).(plug.Listing)
	if !ok {
		return fmt.Errorf("%s has no list %s", m.name, name)
	}
	var some []string
	flush := func() error {
		began := time.Now()
		errs := kv.Each(ctx, m.db.store, some, func(s kv.Store, _ int, id string) error { return m.deleteFrom(ctx, s, id, name, place) })
		deleted(len(some))
		some = nil
		if err := work.FirstError(errs...); err != nil {
			return err
		}
		if !kv.Sleep(ctx, time.Since(began)) {
			return ctx.Err()
		}
		return nil
	}
	err := index.Each(ctx, m.db.store, place, func(id string) error {
		if some = append(some, id); len(some) < childrenAtOnce {
			return nil
		}
		return flush()
	})
	if err == nil && len(some) > 0 {
		err = flush()
	}
	return err
}

// deleteFrom deletes the record id if it belongs at place in an index.
func (m *model[T]) deleteFrom(ctx context.Context, s kv.Store, id, index, place string) error {
	leave, err := m.db.turns.Take(ctx, m.key(id))
	if err != nil {
		return err
	}
	defer leave()
	_, err = m.change(ctx, s, edit[T]{id: id, removes: true, apply: func(old *T) (*T, error) {
		if old != nil && !slices.Contains(m.index(index).Places(old), place) {
			return nil, errUnchanged
		}
		return nil, nil
	}})
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}

// DeleteChildren deletes the children of the record that l is about, if l was of its
// deletion.
func (m *model[T]) DeleteChildren(ctx context.Context, l journal.Line) error {
	if len(m.children) == 0 {
		return nil
	}
	rec, err := m.readable(ctx, m.db.store, l.ID)
	if err != nil {
		return err
	}
	// A line may be of a change that did not commit. If nothing is there, the record may
	// never have been, unless the line is part of the commit.
	if rec.Envelope == nil && m.db.atomic == nil {
		return nil
	}
	return m.deleteChildren(ctx, l.ID, time.Time{})
}
