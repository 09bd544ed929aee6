package kvmodel

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Records is a data class: the records of type T in a database, by ids of type K. kvgen embeds it
// in a type that also holds the model's indexes.
//
// Errors name the model and the id and wrap one of the package's sentinels.
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
	m := &model{
		db:      behalf{base: db.core, name: schema.Name, relaxed: schema.Relaxed},
		name:    schema.Name,
		version: schema.Version,
		codec:   bodiesOf[T]{schema.Codec},
		empty:   func() plug.Record { return new(T) },
		idOf:    plug.Untyped(r.text),
		withID:  func(id string) (plug.Record, error) { return schema.made(id) },
		parses:  func(id string) error { _, err := schema.Key.Parse(id); return err },
		schema:  plug.Untyped(r.schema.fields),
		private: schema.Private,

		counters: newCounters(db, schema.Name, schema.Counters),
		history:  schema.History,
		forgets:  schema.Forget,
		children: schema.Children,
		ends:     schema.Expires != nil,
		isEdge:   schema.Key.parts > 1,
	}
	m.init(schema.Sequential, schema.Key.Number != nil)
	r.m = &class{m, newBuilds(m, db.builds), schema.Gone, db}
	r.m.join()
	return r
}

// class is a data class without its types.
type class struct {
	*model
	builds *builds
	gone   Gone
	in     *DB
}

// join adds m to the models of its DB. It panics if there is one of that name.
func (m *class) join() {
	m.cleans = m.db.Latch(func(ctx context.Context) error { return m.forgetDue(ctx) })
	m.cascade = func(ctx context.Context, id string) error { return m.eraseChildren(ctx, id) }
	m.onMissing = m.builds.buildMissing
	db := m.in
	db.register(m.name, m.model)
	for _, index := range m.gone.Indexes {
		for _, board := range plug.BoardNames(index) {
			db.noteGone("rank:" + kv.JoinText(m.name, board))
		}
	}
	db.mu.Lock()
	db.models = append(db.models, m)
	db.mu.Unlock()
}

func (s *Schema[T, K]) fields(v *T) fields {
	return fields{
		revision: at(s.Revision, v),
		created:  at(s.Created, v),
		updated:  at(s.Updated, v),
		expires:  at(s.Expires, v),
	}
}

// made returns an empty record with that id.
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
func (r *Records[T, K]) ModelName() string { return r.m.name }

// DB returns the database of the records.
func (r *Records[T, K]) DB() *DB { return r.m.in }

// ID returns v's id.
func (r *Records[T, K]) ID(v *T) K { return r.schema.ID(v) }

func (r *Records[T, K]) text(v *T) string { return r.schema.Key.Text(r.schema.ID(v)) }

// Get returns the record with id, or ErrNotFound. If only some of its counters are damaged, it
// returns the record with those set to 0, and an ErrCorrupt. One trip.
func (r *Records[T, K]) Get(ctx context.Context, id K) (*T, error) {
	ctx, end := r.m.db.Begin(ctx, "Get")
	defer end()
	text := r.schema.Key.Text(id)
	rec, err := r.m.look(ctx, text)
	switch {
	case rec == nil:
		return nil, r.m.failure(text, err)
	case rec.Value == nil && err == nil:
		err = kv.ErrNotFound
	}
	return plug.As[T](rec.Value), r.m.failure(text, err)
}

// GetMulti returns the records with ids, in order, nil for missing ones. If the store could not be
// asked for one, it returns only an error. With an ErrCorrupt it returns the undamaged records. One
// trip.
func (r *Records[T, K]) GetMulti(ctx context.Context, ids []K) ([]*T, error) {
	ctx, end := r.m.db.Begin(ctx, "GetMulti")
	defer end()
	if len(ids) == 0 {
		return nil, nil
	}
	records, err := r.m.values(ctx, r.m.shown(), r.schema.Key.texts(ids))
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
// may or may not be included. In a file and in memory it walks the keys of the records. On a server
// it reads a list of ids, and keeps a part of it in memory.
//
// A damaged record yields an ErrCorrupt, and the others follow. If only some of its counters are
// damaged, the record comes with the error. All ends after any other error. If a part of the list
// is lost or damaged, All yields the other records first, then an ErrLost or ErrCorrupt that names
// the part.
func (r *Records[T, K]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		r.m.each(ctx, func(v plug.Record, err error) bool { return yield(plug.As[T](v), err) })
	}
}

// each implements Records.All.
func (m *class) each(ctx context.Context, yield func(plug.Record, error) bool) {
	ctx, end := m.db.Begin(ctx, "All")
	defer end()
	err := m.eachID(ctx, func(ids []string) (live int, err error) {
		recs, err := m.see(ctx, m.db.store, ids)
		if recs == nil {
			return 0, err
		}
		for _, rec := range recs {
			if rec.Value == nil && rec.Err == nil {
				continue
			}
			if live++; !yield(rec.Value, rec.Err) {
				return live, errStop
			}
		}
		return live, nil
	})
	if err != nil && !errors.Is(err, errStop) {
		yield(nil, err)
	}
}

const few = 32

// Load fetches the records that from refers to, each once, in one trip. The map has no entry for a
// missing record nor, with an ErrCorrupt, for a damaged one.
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

// Rebuild enters every record into every index. It is for an index added to a model with records.
// All processes that write the model must already run a release with the index; Rebuild waits up to
// a minute for others to end.
//
// Rebuild continues an unfinished build of another process or an earlier call. If a build is
// running, Rebuild only waits for it. That is also the case on a store held by one process, which
// builds a new index by itself.
//
// A *DuplicatesError lists the records with unique values held by others: an index over these
// cannot be read yet, but the others can. After an ErrNotYet the indexes are complete, but one of
// their steps had to wait too long and needs another Rebuild; before that, a new number of the
// records cannot be read. An ErrCorrupt names damaged records, which may be missing in the indexes.
// All other records are entered, but a newly added index stays unreadable until the damaged records
// are deleted.
//
// Finally Rebuild drops the data listed in the schema's Gone. It waits up to a minute for processes
// with such an index to end, then returns an ErrConflict.
func (r *Records[T, K]) Rebuild(ctx context.Context) error { return r.m.rebuildAll(ctx) }

func (m *class) rebuildAll(ctx context.Context) error {
	ctx, end := m.db.Begin(ctx, "Rebuild")
	defer end()
	if err := m.writable(ctx); err != nil {
		return m.failure("rebuild", err)
	}
	err := m.builds.rebuild(ctx)
	if err != nil && !work.Waits(err) {
		return err
	}
	return cmp.Or(m.dropGone(ctx, m.gone), err)
}
