package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Plug calls build with the model as the index sees it and adds the index, at start-up. It panics
// if the model has an index of that name.
func (r *Records[T, K]) Plug(index plug.Index, build func(plug.Host)) {
	build(host{index, r.m, scoped{r.m.Db.Of(index.Name()), r.m.in}})
	r.m.Plug(index)
	r.m.in.knowsMore()
	plug.Plugged()
}

type scoped struct {
	core.Scope
	db *DB
}

func (s scoped) Store() kv.Store { return s.db.Store() }
func (s scoped) Now() time.Time  { return s.db.Now() }

func (s scoped) Close(ctx context.Context) error { return s.db.Close(ctx) }

func (s scoped) Finishes(name string, finish func(ctx context.Context, s kv.Store, texts []string) error) {
	s.db.Finishes(name, finish)
}

type host struct {
	index plug.Index
	m     *class
	db    plug.DB
}

func (h host) Model() string { return h.m.Name }

func (h host) DB() plug.DB       { return h.db }
func (h host) Private() []string { return h.m.Private }
func (h host) Ends() bool        { return h.m.Ends }

func (h host) Begin(ctx context.Context, verb string) (context.Context, func()) {
	return h.db.Begin(ctx, verb)
}

func (h host) Store() kv.Store { return h.m.Db.Store }

func (h host) Ready(ctx context.Context) error { return h.m.builds.IndexReady(ctx, h.index) }

func (h host) Built() bool { return h.m.IsBuilt(h.index) }

func (h host) See(ctx context.Context, s kv.Store, ids ...string) ([]*plug.Seen, error) {
	return h.seeIn(ctx, s, h.m.Keys, ids, h.index)
}

func (h host) SeeMarks(ctx context.Context, s kv.Store, ids ...string) ([]*plug.Seen, error) {
	return h.seeIn(ctx, s, h.m.Keys, ids, nil)
}

func (h host) SeeBare(ctx context.Context, s kv.Store, ids ...string) ([]*plug.Seen, error) {
	return h.seeIn(ctx, s, h.m.Keys[:1], ids, h.index)
}

func (h host) seeIn(ctx context.Context, s kv.Store, families []kv.Family, ids []string, at plug.Index) ([]*plug.Seen, error) {
	recs, err := h.m.SeeAs(ctx, s, families, ids, at)
	if errors.Is(err, kv.ErrBadKey) {
		recs, err = h.seeGood(ctx, s, families, ids, at)
	}
	for _, rec := range recs {
		rec.Mark = rec.Envelope.Mark(h.index.Name())
	}
	return recs, err
}

// seeGood is seeIn for ids that may be invalid. Invalid ids come from damaged entries.
func (h host) seeGood(ctx context.Context, s kv.Store, families []kv.Family, ids []string, at plug.Index) ([]*plug.Seen, error) {
	recs := make([]*plug.Seen, len(ids))
	var good []string
	var damaged []error
	for i, id := range ids {
		bad := kv.CheckKey(h.m.Key(id))
		if bad == nil {
			good = append(good, id)
			continue
		}
		recs[i] = &plug.Seen{ID: id, Err: h.m.Failure(id, wire.Corrupt(h.m.Key(id), fmt.Errorf("%w: an entry of %s has this id: %v", ErrCorrupt, h.index.Name(), bad)))}
		damaged = append(damaged, recs[i].Err)
	}
	seen, err := h.m.SeeAs(ctx, s, families, good, at)
	if seen == nil {
		return nil, err
	}
	if err != nil {
		damaged = append(damaged, err)
	}
	for i := range recs {
		if recs[i] == nil {
			recs[i], seen = seen[0], seen[1:]
		}
	}
	return recs, core.Joined(damaged)
}

func (h host) Each(ctx context.Context, f func([]*plug.Seen) error) error {
	var damaged []error
	err := h.m.EachID(ctx, func(ids []string) (live int, err error) {
		recs, err := h.See(ctx, h.m.Db.Store, ids...)
		if recs == nil {
			return 0, err
		}
		if err != nil {
			damaged = append(damaged, err)
		}
		return core.Living(recs), f(slices.DeleteFunc(slices.Clone(recs), (*plug.Seen).Damaged))
	})
	return work.FirstError(err, core.Joined(damaged))
}

func (h host) Keep(ctx context.Context, s kv.Store, rec *plug.Seen, mark []byte) error {
	env := *rec.Envelope
	env.SetMark(h.index.Name(), mark)
	env.Rev++
	_, err := kv.One(ctx, s, h.m.Store(rec, &env))
	return err
}

func (h host) Fence(ctx context.Context, s kv.Store, rec *plug.Seen) error {
	return h.m.Fence(ctx, s, rec, 0)
}

func (h host) MendSoon(id, place string, past uint64) {
	h.DB().Soon(func(ctx context.Context) error { return h.Mend(ctx, h.m.Db.Store, id, place, past) })
}

func (h host) Mend(ctx context.Context, s kv.Store, id, place string, past uint64) error {
	return h.m.Repair(ctx, s, id, past, []envelope.Touched{{Index: h.index.Name(), Places: []string{place}}}, false)
}

func (h host) Rebuilds(ctx context.Context, s kv.Store) (begun, ended int64, err error) {
	return h.m.Built.Rebuilds(ctx, s)
}
