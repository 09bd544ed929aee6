package kvmodel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
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
)

// Cascade is a deletion whose children are still to be deleted.
type Cascade struct {
	Model, ID string // of the record that was deleted; the text of its id
	Deleted   int    // children, so far, by this process
}

// errChildren: there are more children to be deleted.
var errChildren = fmt.Errorf("%w: children are still to be deleted", work.ErrNotYet)

// childrenMark is the mark in the tombstone of a record whose children go: when it was
// deleted, in milliseconds since 1970. No index is called so. A tombstone that only keeps a
// change from committing has none.
const childrenMark = "children"

// markChildren notes in env, the tombstone of rec, that the children of rec are to go.
func (c *change) markChildren(env *envelope.Envelope, rec *plug.Seen) {
	if len(c.children) > 0 && (rec.Envelope.Live() || rec.Damaged()) {
		env.SetMark(childrenMark, binary.AppendUvarint(nil, uint64(c.db.now().UnixMilli())))
	}
}

// errStays: the record was made again, or its tombstone is gone. What belongs to it stays.
var errStays = errors.New("the record is not one that was deleted")

// deleted returns when the record id was deleted, or errStays.
func (m *model) deleted(ctx context.Context, id string) (at time.Time, err error) {
	rec, err := m.readable(ctx, m.db.store, id)
	if err != nil {
		return at, err
	}
	ms, n := binary.Uvarint(rec.Envelope.Mark(childrenMark))
	if rec.Envelope.Live() || n <= 0 {
		return at, errStays
	}
	return time.UnixMilli(int64(ms)), nil
}

// DeleteChildren deletes the children of the record id if it was deleted, unless it is made
// again before they are gone. It returns an ErrNotYet if it has to be called again.
func (m *model) DeleteChildren(ctx context.Context, id string) error {
	if len(m.children) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, childrenTime)
	defer cancel()
	at, err := m.deleted(ctx, id)
	if err == nil {
		err = m.deleteAll(ctx, id, at)
	}
	if errors.Is(err, errStays) {
		err = nil
	}
	if err == nil {
		m.db.cascades.end(m.name, id)
	}
	return err
}

// deleteAll deletes the children of the record id, which was deleted at a time.
func (m *model) deleteAll(ctx context.Context, id string, at time.Time) error {
	o := orphans{
		place:   id,
		goOn:    func(ctx context.Context) error { _, err := m.deleted(ctx, id); return err },
		deleted: func(n int) { m.db.cascades.count(m.name, id, n, m.db.now()) },
	}
	var errs []error
	for _, list := range m.children {
		errs = append(errs, m.deleteIn(ctx, list, o))
	}
	err := work.FirstError(errs...)
	switch {
	case errors.Is(err, errStays):
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errChildren
	case err == nil && m.db.atomic == nil && m.db.now().Sub(at) < times.Settled:
		return errChildren
	}
	return err
}

// deleteIn deletes those of o that are in a list, MODEL.INDEX.
func (m *model) deleteIn(ctx context.Context, list string, o orphans) error {
	child, index, err := m.childrenIn(list, o.place)
	if err != nil {
		return err
	}
	return child.deleteOrphans(ctx, index, o)
}

// childrenIn returns the model and the index of a list of the children of the record id.
func (m *model) childrenIn(list, id string) (child dataClass, index string, err error) {
	name, index, _ := strings.Cut(list, ".")
	if child = m.db.DB.model(name); child == nil {
		err = m.failure(id, fmt.Errorf("its children in %s stay, since this process does not have the model %s", list, name))
	}
	return child, index, err
}

// forgetChildren removes the id of the record that its children were under from their lists
// and their tombstones.
func (m *model) forgetChildren(ctx context.Context, id string) error {
	for _, list := range m.children {
		child, index, err := m.childrenIn(list, id)
		if err == nil {
			err = child.forgetOrphans(ctx, index, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// orphans are the records in a list that are to be deleted.
type orphans struct {
	place   string
	goOn    func(context.Context) error // says, once some are found, why they are not to be deleted
	deleted func(n int)                 // is told how many were
}

// forgetOrphans removes place from an index, and from the tombstones of those that were there.
func (m *model) forgetOrphans(ctx context.Context, name, place string) error {
	index, err := m.listing(name)
	if err != nil {
		return err
	}
	return index.Vacate(ctx, m.db.store, place, func(ids []string) error {
		return m.clean(ctx, kv.Texts(ids, m.key), func(env *envelope.Envelope) bool {
			return env.DropLost(func(index, lost string) bool { return index == name && plug.Bare(lost) == place })
		})
	})
}

// listing returns the list of that name.
func (m *model) listing(name string) (plug.Listing, error) {
	index, ok := m.index(name).(plug.Listing)
	if !ok {
		return nil, fmt.Errorf("%s has no list %s", m.name, name)
	}
	return index, nil
}

// deleteOrphans deletes the records of o in an index.
func (m *model) deleteOrphans(ctx context.Context, name string, o orphans) error {
	index, err := m.listing(name)
	if err != nil {
		return err
	}
	var some []string
	err = index.Each(ctx, m.db.store, o.place, func(id string) (err error) {
		if some = append(some, id); len(some) == childrenAtOnce {
			err, some = m.deleteSome(ctx, name, some, o), nil
		}
		return err
	})
	if err == nil && len(some) > 0 {
		err = m.deleteSome(ctx, name, some, o)
	}
	return err
}

// deleteSome deletes those records of ids that are of o in an index. Then others have the
// store for as long.
func (m *model) deleteSome(ctx context.Context, index string, ids []string, o orphans) error {
	if err := o.goOn(ctx); err != nil {
		return err
	}
	began := time.Now()
	belongs := make([]bool, len(ids))
	id := func(i int) string { return ids[i] }
	errs := m.several(ctx, len(ids), id, func(ctx context.Context, s kv.Store, i int, rest *rest) error {
		return m.remove(ctx, s, ids[i], func(rec *plug.Seen) bool {
			belongs[i] = rec.Damaged()
			if rec.Value != nil {
				_, belongs[i] = plug.At(m.index(index).Places(rec.Value), o.place)
			}
			return belongs[i]
		}, rest)
	})
	n := 0
	for i, is := range belongs {
		if is && errs[i] == nil {
			n++
		}
	}
	o.deleted(n)
	if err := work.FirstError(errs...); err != nil {
		return err
	}
	kv.Sleep(ctx, time.Since(began))
	return ctx.Err()
}
