package erase

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
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/write"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The children of a record are the records in certain lists under its id. The line of its deletion
// stays open until they are deleted. Without transactions a change under way may add a child to a
// list already read, so lists are read again once none can still commit.

const (
	childrenAtOnce = 100              // in shared trips
	childrenTime   = 10 * time.Second // after which other work gets its turn
)

var errChildren = fmt.Errorf("%w: some children are not deleted yet", work.ErrNotYet)

// errStays: the record was created again, or its tombstone is gone. Its children stay.
var errStays = errors.New("the record is not deleted")

func deleted(ctx context.Context, m *core.Model, id string) (at time.Time, err error) {
	rec, err := m.Readable(ctx, m.Db.Store, id)
	if err != nil {
		return at, err
	}
	ms, n := binary.Uvarint(rec.Envelope.Mark(core.ChildrenMark))
	if rec.Envelope.Live() || n <= 0 {
		return at, errStays
	}
	return time.UnixMilli(int64(ms)), nil
}

func DeleteChildren(ctx context.Context, m *core.Model, id string) error {
	ctx, cancel := context.WithTimeout(ctx, childrenTime)
	defer cancel()
	at, err := deleted(ctx, m, id)
	if err == nil {
		err = deleteAll(ctx, m, id, at)
	}
	if errors.Is(err, errStays) {
		err = nil
	}
	if err == nil {
		m.Db.Cascades.End(m.Name, id)
	}
	return err
}

func deleteAll(ctx context.Context, m *core.Model, id string, at time.Time) error {
	o := orphans{
		place:   id,
		goOn:    func(ctx context.Context) error { _, err := deleted(ctx, m, id); return err },
		deleted: func(n int) { m.Db.Cascades.Count(m.Name, id, n, m.Db.Now()) },
	}
	var errs []error
	for _, list := range m.Children {
		errs = append(errs, deleteIn(ctx, m, list, o))
	}
	err := work.FirstError(errs...)
	switch {
	case errors.Is(err, errStays):
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errChildren
	case err == nil && m.Db.Atomic == nil && m.Db.Now().Sub(at) < times.Settled:
		return errChildren
	}
	return err
}

func deleteIn(ctx context.Context, m *core.Model, list string, o orphans) error {
	child, index, err := childrenIn(m, list, o.place)
	if err != nil {
		return err
	}
	return deleteListed(ctx, child, index, o)
}

func childrenIn(m *core.Model, list, id string) (child *core.Model, index string, err error) {
	name, index, _ := strings.Cut(list, ".")
	if child = m.Db.Model(name); child == nil {
		err = m.Failure(id, fmt.Errorf("its children in %s were not deleted, because this process does not have the model %s", list, name))
	}
	return child, index, err
}

func forgetChildren(ctx context.Context, m *core.Model, id string) error {
	for _, list := range m.Children {
		child, index, err := childrenIn(m, list, id)
		if err == nil {
			err = forgetOrphans(ctx, child, index, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type orphans struct {
	place   string
	goOn    func(context.Context) error // called when orphans are found; an error keeps them
	deleted func(n int)
}

func forgetOrphans(ctx context.Context, m *core.Model, name, place string) error {
	index, err := listing(m, name)
	if err != nil {
		return err
	}
	return index.Vacate(ctx, m.Db.Store, place, func(ids []string) error {
		return clean(ctx, m, kv.Texts(ids, m.Key), func(env *envelope.Envelope) bool {
			return env.DropLost(func(index, lost string) bool { return index == name && plug.Bare(lost) == place })
		})
	})
}

func listing(m *core.Model, name string) (plug.Listing, error) {
	index, ok := m.Index(name).(plug.Listing)
	if !ok {
		return nil, fmt.Errorf("%s has no list %s", m.Name, name)
	}
	return index, nil
}

func deleteListed(ctx context.Context, m *core.Model, name string, o orphans) error {
	index, err := listing(m, name)
	if err != nil {
		return err
	}
	var some []string
	err = index.Each(ctx, m.Db.Store, o.place, func(id string) (err error) {
		if some = append(some, id); len(some) == childrenAtOnce {
			err, some = deleteSome(ctx, m, name, some, o), nil
		}
		return err
	})
	if err == nil && len(some) > 0 {
		err = deleteSome(ctx, m, name, some, o)
	}
	return err
}

// deleteSome deletes those of ids that are still in o's place, then sleeps for the time that took.
func deleteSome(ctx context.Context, m *core.Model, index string, ids []string, o orphans) error {
	if err := o.goOn(ctx); err != nil {
		return err
	}
	began := time.Now()
	belongs := make([]bool, len(ids))
	id := func(i int) string { return ids[i] }
	errs := write.Several(ctx, m, len(ids), id, func(ctx context.Context, s kv.Store, i int, rest *write.Rest) error {
		return write.Remove(ctx, m, s, ids[i], func(rec *plug.Seen) bool {
			belongs[i] = rec.Damaged()
			if rec.Value != nil {
				_, belongs[i] = plug.At(m.Index(index).Places(rec.Value), o.place)
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

func DeleteOrphans(ctx context.Context, m *core.Model, id string) error {
	o := orphans{place: id, deleted: func(int) {}, goOn: func(ctx context.Context) error {
		rec, err := m.Readable(ctx, m.Db.Store, id)
		if err == nil && rec.Value != nil {
			err = errStays
		}
		return err
	}}
	for _, list := range m.Children {
		if err := deleteIn(ctx, m, list, o); err != nil && !errors.Is(err, errStays) {
			return err
		}
	}
	return nil
}
