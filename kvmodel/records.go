package kvmodel

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/erase"
	"github.com/ringtree/ringtree/kvmodel/internal/rebuild"
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

// class is a data class without its types.
type class struct {
	*core.Model
	builds *rebuild.Builds
	gone   Gone
	in     *DB
}

// join adds m to the models of its DB. It panics if there is one of that name.
func (m *class) join() {
	m.Cleans = m.Db.Latch(func(ctx context.Context) error { return erase.ForgetDue(ctx, m.Model) })
	m.Cascade = func(ctx context.Context, id string) error { return erase.DeleteChildren(ctx, m.Model, id) }
	m.OnMissing = m.builds.BuildMissing
	db := m.in
	db.register(m.Name, m.Model)
	for _, index := range m.gone.Indexes {
		for _, board := range plug.BoardNames(index) {
			db.noteGone("rank:" + kv.JoinText(m.Name, board))
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

// GetMulti returns the records with ids, in order, nil for missing ones. If the store could not be
// asked for one, it returns only an error. With an ErrCorrupt it returns the undamaged records. One
// trip.
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

// Purge deletes the record with id, if it exists, and immediately removes everything a deletion
// leaves behind: the tombstone, the history, all counters, and the id in indexes, journals and the
// enumeration. It is not an error if there is nothing. After any error, call Purge again: it
// continues.
//
// The error is an ErrNotYet while earlier work may still write the id:
//
//   - Records that belong to it by list,with= are deleted first, but not purged. That takes 15
//     seconds on a store without transactions.
//   - A change of the record, in any process, is not complete. That takes a few seconds, and up to
//     an hour if its process has died.
//
// Purge follows the record, its history and its tombstone. It does not find places that the record
// left earlier, references from other records, events, or backups. On a server it reads the ids of
// the whole model, so do not use it for every deletion.
func (r *Records[T, K]) Purge(ctx context.Context, id K) error {
	return erase.Purge(ctx, r.m.Model, r.schema.Key.Text(id), r.schema.Key.Empty(id))
}
