package kvmodel

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/erase"
	"github.com/ringtree/ringtree/kvmodel/internal/rebuild"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Records is a data class: the records of type T in a database, by ids of type K. kvgen embeds it
// in a type with the model's indexes. Errors name the model and the id and wrap one of the
// package's sentinels.
type Records[T any, K comparable] struct {
	m      *class
	schema Schema[T, K]
}

// Model is a data class without its types, for tools that work on any set of models.
type Model interface {
	ModelName() string
	Rebuild(ctx context.Context) error
}

// NewRecords returns the data class of schema in db. Call it once, at start-up: it panics if db
// already has a model of that name.
func NewRecords[T any, K comparable](db *DB, schema Schema[T, K]) *Records[T, K] {
	r := &Records[T, K]{schema: schema}
	m := &core.Model{
		Db:      core.Scope{DB: db.core, Name: schema.Name, Relaxed: schema.Relaxed},
		Name:    schema.Name,
		Version: schema.Version,
		Codec:   bodiesOf[T]{schema.Codec},
		Empty:   func() plug.Record { return new(T) },
		IdOf:    plug.Untyped(r.text),
		WithID:  func(id string) (plug.Record, error) { return schema.made(id) },
		Parses:  func(id string) error { _, err := schema.Key.Parse(id); return err },
		Schema:  plug.Untyped(r.schema.fields),
		Private: schema.Private,

		Counters: newCounters(db, schema.Name, schema.Counters),
		History:  schema.History,
		Forgets:  schema.Forget,
		Children: schema.Children,
		Ends:     schema.Expires != nil,
		IsEdge:   schema.Key.parts > 1,
	}
	m.Init(schema.Sequential, schema.Key.Number != nil)
	r.m = &class{m, rebuild.NewBuilds(m, db.builds), schema.Gone, db}
	r.m.join()
	return r
}

type class struct {
	*core.Model
	builds *rebuild.Builds
	gone   Gone
	in     *DB
}

// join adds m to the models of its DB. It panics if the DB has a model of that name.
func (m *class) join() {
	m.Cleans = m.Db.Latch(func(ctx context.Context) error { return erase.ForgetDue(ctx, m.Model) })
	m.Cascade = func(ctx context.Context, id string) error { return erase.DeleteChildren(ctx, m.Model, id) }
	m.OnMissing = m.builds.BuildMissing
	db := m.in
	db.register(m.Name, m.Model)
	for _, index := range m.gone.Indexes {
		for _, board := range plug.BoardNames(index) {
			db.addGone("rank:" + kv.JoinText(m.Name, board))
		}
	}
	db.mu.Lock()
	db.models = append(db.models, m)
	db.mu.Unlock()
}

func (s *Schema[T, K]) fields(v *T) core.Fields {
	return core.Fields{
		Revision: at(s.Revision, v),
		Created:  at(s.Created, v),
		Updated:  at(s.Updated, v),
		Expires:  at(s.Expires, v),
	}
}

func (s *Schema[T, K]) made(id string) (*T, error) {
	k, err := s.Key.Parse(id)
	v := new(T)
	if err == nil {
		s.SetID(v, k)
	}
	return v, err
}

func at[T, F any](field func(*T) *F, v *T) *F {
	if field == nil {
		return nil
	}
	return field(v)
}

// IDs returns the KeyOf of the ids.
func (r *Records[T, K]) IDs() KeyOf[K] { return r.schema.Key }

// ModelName returns the name of the model.
func (r *Records[T, K]) ModelName() string { return r.m.Name }

// DB returns the database of the records.
func (r *Records[T, K]) DB() *DB { return r.m.in }

// ID returns v's id.
func (r *Records[T, K]) ID(v *T) K { return r.schema.ID(v) }

func (r *Records[T, K]) text(v *T) string { return r.schema.Key.Text(r.schema.ID(v)) }

// Get returns the record with id, or ErrNotFound. If only some of its counters are damaged, it
// returns the record with those set to 0, and an ErrCorrupt. One trip.
func (r *Records[T, K]) Get(ctx context.Context, id K) (*T, error) {
	ctx, end := r.m.Db.Begin(ctx, "Get")
	defer end()
	text := r.schema.Key.Text(id)
	rec, err := r.m.Look(ctx, text)
	switch {
	case rec == nil:
		return nil, r.m.Failure(text, err)
	case rec.Value == nil && err == nil:
		err = kv.ErrNotFound
	}
	return plug.As[T](rec.Value), r.m.Failure(text, err)
}

// GetMulti returns the records with ids, in order, nil for missing ones, in one trip. With an
// ErrCorrupt it returns the undamaged ones.
func (r *Records[T, K]) GetMulti(ctx context.Context, ids []K) ([]*T, error) {
	ctx, end := r.m.Db.Begin(ctx, "GetMulti")
	defer end()
	if len(ids) == 0 {
		return nil, nil
	}
	records, err := r.m.Values(ctx, r.m.Shown(), r.schema.Key.texts(ids))
	if records == nil {
		return nil, err
	}
	values := make([]*T, len(records))
	for i, v := range records {
		values[i] = plug.As[T](v)
	}
	return values, err
}

// All returns every record once, in no order, 100 per trip. Records created or deleted meanwhile
// may be included. A damaged record yields an ErrCorrupt, with the record if only counters are
// damaged, and the others follow. If a part of a server's list of ids is lost or damaged, All
// yields the other records first, then an ErrLost or ErrCorrupt. Any other error ends it.
func (r *Records[T, K]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		r.m.each(ctx, func(v plug.Record, err error) bool { return yield(plug.As[T](v), err) })
	}
}

func (m *class) each(ctx context.Context, yield func(plug.Record, error) bool) {
	ctx, end := m.Db.Begin(ctx, "All")
	defer end()
	err := m.EachID(ctx, func(ids []string) (live int, err error) {
		recs, err := m.See(ctx, m.Db.Store, ids)
		if recs == nil {
			return 0, err
		}
		for _, rec := range recs {
			if rec.Value == nil && rec.Err == nil {
				continue
			}
			if live++; !yield(rec.Value, rec.Err) {
				return live, core.ErrStop
			}
		}
		return live, nil
	})
	if err != nil && !errors.Is(err, core.ErrStop) {
		yield(nil, err)
	}
}

const few = 32

// Load fetches the records that from refers to, each once, in one trip. The map lacks missing
// records and, with an ErrCorrupt, damaged ones.
func Load[F, T any, K comparable](ctx context.Context, r *Records[T, K], from []F, ref func(F) K) (map[K]*T, error) {
	ids := make([]K, 0, len(from))
	asked := make(map[K]bool) // without the first few, which are searched linearly
	for _, f := range from {
		id := ref(f)
		if r.schema.Key.Empty(id) || asked[id] || slices.Contains(ids[:min(len(ids), few)], id) {
			continue
		}
		if ids = append(ids, id); len(ids) > few {
			asked[id] = true
		}
	}
	values, err := r.GetMulti(ctx, ids)
	if values == nil && err != nil {
		return nil, err
	}
	n := 0
	for _, v := range values {
		if v != nil {
			n++
		}
	}
	found := make(map[K]*T, n)
	for i, v := range values {
		if v != nil {
			found[ids[i]] = v
		}
	}
	return found, err
}

// Rebuild enters every record into every index, for an index added to a model with records. It
// continues an unfinished build, and waits for a running one, as on a store held by one process,
// which builds a new index by itself. Processes that write the model must know the index; Rebuild
// waits up to a minute for others to end. Finally it drops the data in the schema's Gone, or is an
// ErrConflict if another process keeps it.
//
// A *DuplicatesError lists records whose unique values others hold: their indexes cannot be read
// yet. An ErrNotYet means that a step must wait for another Rebuild; only a new number of the
// records cannot be read. An ErrCorrupt names damaged records; a new index stays unreadable until
// they are deleted.
func (r *Records[T, K]) Rebuild(ctx context.Context) error { return r.m.rebuildAll(ctx) }

func (m *class) rebuildAll(ctx context.Context) error {
	ctx, end := m.Db.Begin(ctx, "Rebuild")
	defer end()
	if err := m.Writable(ctx); err != nil {
		return m.Failure("rebuild", err)
	}
	err := m.builds.Rebuild(ctx)
	if err != nil && !work.Waits(err) {
		return err
	}
	return cmp.Or(erase.DropGone(ctx, m.Model, m.gone), err)
}

// Purge deletes the record with id, if any, and removes everything a deletion leaves behind: the
// tombstone, the history, all counters, and the id in indexes, journals and the enumeration. After
// an error call it again: it continues. An ErrNotYet means that earlier work may still write the
// id:
//
//   - Records that belong to it by list,with= are deleted first, but not purged. Without
//
// transactions that takes 15 seconds.
//   - A change of it is not complete. That takes seconds, or an hour if its process has died.
//
// Purge does not find places that the record left earlier, references from other records, events,
// or backups. On a server it reads the ids of the whole model.
func (r *Records[T, K]) Purge(ctx context.Context, id K) error {
	return erase.Purge(ctx, r.m.Model, r.schema.Key.Text(id), r.schema.Key.Empty(id))
}
