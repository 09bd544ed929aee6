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

// The children of a record are the records in certain lists under its id. Deleting it deletes them:
// after the reply, in batches, each as by Delete. The journal line of the deletion stays open until
// then, so that another process continues after a crash.
//
// A change under way during the deletion may add a child to a list that was already read. So on a
// store without transactions, the lists are read again once no such change can still commit.

const (
	childrenAtOnce = 100              // deleted in shared trips
	childrenTime   = 10 * time.Second // time limit, after which other work gets its turn
)

// Cascade is a deletion with children left to delete.
type Cascade struct {
	Model, ID string // of the deleted record; ID is the text of its id
	Deleted   int    // children deleted so far by this process
}

// errChildren: more children must be deleted.
var errChildren = fmt.Errorf("%w: children are still to be deleted", work.ErrNotYet)

// childrenMark is the mark in the tombstone of a record whose children are deleted with it. Its
// value is the time of the deletion in milliseconds since 1970. No index has this name. A tombstone
// that only keeps a change from committing has no such mark.
const childrenMark = "children"

// markChildren marks env, the tombstone of rec, for the deletion of its children.
func (c *change) markChildren(env *envelope.Envelope, rec *plug.Seen) {
	if len(c.children) > 0 && (rec.Envelope.Live() || rec.Damaged()) {
		env.SetMark(childrenMark, binary.AppendUvarint(nil, uint64(c.db.now().UnixMilli())))
	}
}

// errStays: the record was created again, or its tombstone is gone. Its children stay.
var errStays = errors.New("the record is not one that was deleted")

// deleted returns the time when the record id was deleted, or errStays.
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

// eraseChildren implements DeleteChildren of the model.
func (m *model) eraseChildren(ctx context.Context, id string) error {
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

// deleteAll deletes the children of the record id, which was deleted at the given time.
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

// deleteIn deletes the orphans o in a list, MODEL.INDEX.
func (m *model) deleteIn(ctx context.Context, list string, o orphans) error {
	child, index, err := m.childrenIn(list, o.place)
	if err != nil {
		return err
	}
	return child.deleteOrphans(ctx, index, o)
}

// childrenIn returns the model and the index of a list that holds children of the record id.
func (m *model) childrenIn(list, id string) (child *model, index string, err error) {
	name, index, _ := strings.Cut(list, ".")
	if child = m.db.model(name); child == nil {
		err = m.failure(id, fmt.Errorf("its children in %s stay, since this process does not have the model %s", list, name))
	}
	return child, index, err
}

// forgetChildren removes the place of the record id from the lists and the tombstones of its
// children.
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

// orphans are records in a list that must be deleted.
type orphans struct {
	place   string
	goOn    func(context.Context) error // called when orphans are found; an error keeps them
	deleted func(n int)                 // called with the number deleted
}

// forgetOrphans removes place from an index and from the tombstones of its former members.
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

func (m *model) listing(name string) (plug.Listing, error) {
	index, ok := m.index(name).(plug.Listing)
	if !ok {
		return nil, fmt.Errorf("%s has no list %s", m.name, name)
	}
	return index, nil
}

// deleteOrphans deletes the orphans o in an index.
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

// deleteSome deletes the records among ids that are still in o's place, then sleeps for the time
// that took.
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

// deleteOrphansOf deletes the children of the record id unless it exists. Its tombstone may be gone.
func (m *model) deleteOrphansOf(ctx context.Context, id string) error {
	o := orphans{place: id, deleted: func(int) {}, goOn: func(ctx context.Context) error {
		rec, err := m.readable(ctx, m.db.store, id)
		if err == nil && rec.Value != nil {
			err = errStays
		}
		return err
	}}
	for _, list := range m.children {
		if err := m.deleteIn(ctx, list, o); err != nil && !errors.Is(err, errStays) {
			return err
		}
	}
	return nil
}
