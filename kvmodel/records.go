package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Records is a data class: the records of type T in a database, by their ids
// of type K. kvgen embeds it in a type that holds the model's indexes as well.
//
// Errors name the model and the id and wrap one of the package's sentinels.
type Records[T any, K comparable] struct {
	m      *model[T]
	schema Schema[T, K]
}

// Model is a data class without its types, for tools that work on any set of
// models.
type Model interface {
	ModelName() string
	Rebuild(ctx context.Context) error
}

// NewRecords returns the data class of schema in db. It belongs into the
// program's wiring: it panics if db has a model of that name already.
func NewRecords[T any, K comparable](db *DB, schema Schema[T, K]) *Records[T, K] {
	m := &model[T]{
		db:      db,
		name:    schema.Name,
		version: schema.Version,
		codec:   schema.Codec,
		schema:  schema.fields,
		all:     newEnumeration(schema.Name),

		counters: schema.Counters,
		history:  schema.History,
	}
	if schema.History > 0 && schema.Expires != nil {
		panic("kvmodel: " + schema.Name + " cannot have a history: its records expire")
	}
	if schema.Sequential {
		if schema.Expires != nil || schema.Key.Number == nil {
			panic("kvmodel: the ids of " + schema.Name + " cannot be given in order: they must be integers, and the records must not expire")
		}
		m.numbers = newRecordNumbers(schema.Name)
	}
	m.built.turn = make(chan struct{}, 1)
	m.built.turn <- struct{}{}
	db.register(schema.Name, m)
	return &Records[T, K]{m, schema}
}

func (s *Schema[T, K]) fields(v *T) fields {
	return fields{
		revision: at(s.Revision, v),
		created:  at(s.Created, v),
		updated:  at(s.Updated, v),
		expires:  at(s.Expires, v),
	}
}

func at[T, F any](field func(*T) *F, v *T) *F {
	if field == nil {
		return nil
	}
	return field(v)
}

// IDs returns how the ids of the records become texts and back.
func (r *Records[T, K]) IDs() KeyOf[K] { return r.schema.Key }

// ModelName returns the name of the model.
func (r *Records[T, K]) ModelName() string { return r.m.name }

// DB returns the database of the records.
func (r *Records[T, K]) DB() *DB { return r.m.db }

// ID returns v's id.
func (r *Records[T, K]) ID(v *T) K { return r.schema.ID(v) }

// Get returns the record with id, or ErrNotFound. One trip.
func (r *Records[T, K]) Get(ctx context.Context, id K) (*T, error) {
	text := r.schema.Key.Text(id)
	rec, err := r.m.look(ctx, text)
	if err != nil {
		return nil, r.m.failure(text, err)
	}
	if rec.Value == nil {
		return nil, r.m.failure(text, kv.ErrNotFound)
	}
	return rec.Value, nil
}

// GetMulti returns the records with ids in their order, nil where there is
// none. The error says that some could not be asked for. One trip.
func (r *Records[T, K]) GetMulti(ctx context.Context, ids []K) ([]*T, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = r.schema.Key.Text(id)
	}
	return r.m.values(ctx, texts)
}

// All returns every record once, in no order. It reads the list of ids and
// then the records, 100 a trip, and keeps the ids it has seen in memory. A
// record that is made or deleted meanwhile may be among them or not. After an
// error it ends.
func (r *Records[T, K]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		err := r.m.eachID(ctx, func(ids []string) error {
			values, err := r.m.values(ctx, ids)
			if err != nil {
				return err
			}
			for _, v := range values {
				if v != nil && !yield(v, nil) {
					return errStop
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(nil, err)
		}
	}
}

var errStop = errors.New("stop")

// Create stores v as a new record. Where v has no id and ids are text, it gets
// a new one; where ids are given in order, it gets the next number, and must come
// without. ErrExists if there is a record with that id; a *TakenError if
// another record holds one of v's unique values; ErrInvalid. v's id and the
// fields the data class fills in are set when Create returns.
func (r *Records[T, K]) Create(ctx context.Context, v *T) error {
	return r.create(ctx, r.m.db.store, v)
}

func (r *Records[T, K]) create(ctx context.Context, s kv.Store, v *T) error {
	if r.m.numbers != nil {
		return r.createNext(ctx, s, v)
	}
	given, err := r.giveID(v)
	if err != nil {
		return err
	}
	_, err = r.m.change(ctx, s, edit[T]{
		id:    r.text(v),
		fresh: true,
		peek:  given,
		apply: func(old *T) (*T, error) {
			if old != nil {
				return nil, kv.ErrExists
			}
			return v, nil
		},
	})
	return err
}

// giveID gives v a new id if it has none. It tells whether it had one.
func (r *Records[T, K]) giveID(v *T) (given bool, err error) {
	id := r.schema.ID(v)
	if !r.schema.Key.Empty(id) {
		return true, nil
	}
	if r.schema.Key.New == nil {
		return false, fmt.Errorf("%s: %w: the id or a part of it is empty", r.m.name, ErrInvalid)
	}
	r.schema.SetID(v, r.schema.Key.New())
	return false, nil
}

func (r *Records[T, K]) text(v *T) string { return r.schema.Key.Text(r.schema.ID(v)) }

// createdAtOnce is how many records CreateMulti makes in the trips of one.
const createdAtOnce = 500

// CreateMulti stores vs as new records, 500 at a time in the trips of one
// Create. Each is on its own: the error joins an *ItemError for every one that
// was not made.
func (r *Records[T, K]) CreateMulti(ctx context.Context, vs []*T) error {
	var errs []error
	for begin := 0; begin < len(vs); begin += createdAtOnce {
		batch := vs[begin:min(begin+createdAtOnce, len(vs))]
		for i, err := range r.createBatch(ctx, batch) {
			if err != nil {
				errs = append(errs, &ItemError{begin + i, err})
			}
		}
	}
	return errors.Join(errs...)
}

func (r *Records[T, K]) createBatch(ctx context.Context, vs []*T) []error {
	if r.m.numbers != nil {
		return r.createInOrder(ctx, vs)
	}
	if r.m.db.atomic != nil {
		return r.createSideBySide(ctx, vs)
	}
	works := make([]func(kv.Store) error, len(vs))
	for i, v := range vs {
		works[i] = func(s kv.Store) error { return r.create(ctx, s, v) }
	}
	return kv.Together(ctx, r.m.db.store, works...)
}

// createSideBySide makes each record in a transaction of its own; the store
// commits those that come at the same time together.
func (r *Records[T, K]) createSideBySide(ctx context.Context, vs []*T) []error {
	errs := make([]error, len(vs))
	var wait sync.WaitGroup
	places := make(chan struct{}, 64)
	for i, v := range vs {
		places <- struct{}{}
		wait.Go(func() {
			errs[i] = r.Create(ctx, v)
			<-places
		})
	}
	wait.Wait()
	return errs
}

// Put stores v whatever was there, making the record or replacing it. Where
// the model has a version field, v's must be that of the record, or 0 if there
// is none, else ErrConflict. Otherwise as Create.
func (r *Records[T, K]) Put(ctx context.Context, v *T) error {
	if _, err := r.giveID(v); err != nil {
		return err
	}
	return r.inTurn(ctx, r.text(v), func(id string) error {
		given := *v
		expected := value(at(r.schema.Revision, v))
		_, err := r.m.change(ctx, r.m.db.store, edit[T]{id: id, apply: func(old *T) (*T, error) {
			if r.schema.Revision != nil && expected != r.revision(old) {
				return nil, fmt.Errorf("%w: it is at version %d, not %d", kv.ErrConflict, r.revision(old), expected)
			}
			return v, nil
		}})
		if err != nil {
			// With a new version in v, a second Put would overwrite what this
			// one has lost to.
			*v = given
		}
		return err
	})
}

func (r *Records[T, K]) revision(v *T) int64 {
	if v == nil {
		return 0
	}
	return value(r.schema.Revision(v))
}

// Update changes the record with id by f and returns what it has become. f may
// be called again with a newer record when others change it at the same time,
// so it should do nothing else. An error of f ends Update, which returns it as
// it is and writes nothing; nor is anything written where f changes nothing.
// ErrNotFound if there is no record; f must not change the id.
func (r *Records[T, K]) Update(ctx context.Context, id K, f func(*T) error) (*T, error) {
	return r.edit(ctx, id, f, func() (*T, error) { return nil, kv.ErrNotFound })
}

// Upsert is Update, but where there is no record, f gets an empty one with its
// id, and the record is made.
func (r *Records[T, K]) Upsert(ctx context.Context, id K, f func(*T) error) (*T, error) {
	return r.edit(ctx, id, f, func() (*T, error) {
		v := new(T)
		r.schema.SetID(v, id)
		return v, nil
	})
}

// edit changes the record with id by f. Where there is none, f gets what
// absent returns.
func (r *Records[T, K]) edit(ctx context.Context, id K, f func(*T) error, absent func() (*T, error)) (v *T, err error) {
	if r.schema.Key.Empty(id) {
		return nil, fmt.Errorf("%s: %w: the id or a part of it is empty", r.m.name, ErrInvalid)
	}
	err = r.inTurn(ctx, r.schema.Key.Text(id), func(text string) error {
		v, err = r.m.change(ctx, r.m.db.store, edit[T]{id: text, apply: func(old *T) (*T, error) {
			if old == nil {
				if old, err = absent(); err != nil {
					return nil, err
				}
			}
			return old, r.call(f, old, id)
		}})
		return err
	})
	var own *ownError
	if errors.As(err, &own) {
		err = own.error
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// call calls f on v, which must keep its id.
func (r *Records[T, K]) call(f func(*T) error, v *T, id K) error {
	if err := f(v); err != nil {
		return &ownError{err}
	}
	if r.schema.ID(v) != id {
		return fmt.Errorf("%w: an update must not change the id", ErrInvalid)
	}
	return nil
}

// ownError is an error of the caller's own, to be returned as it is. What it
// wraps means nothing to a change.
type ownError struct{ error }

// Delete removes the record with id and its index entries, or returns
// ErrNotFound. Afterwards the id can be used again.
func (r *Records[T, K]) Delete(ctx context.Context, id K) error {
	if r.schema.Key.Empty(id) {
		return r.m.failure(r.schema.Key.Text(id), kv.ErrNotFound)
	}
	return r.inTurn(ctx, r.schema.Key.Text(id), func(text string) error {
		_, err := r.m.change(ctx, r.m.db.store, edit[T]{
			id: text, removes: true,
			apply: func(*T) (*T, error) { return nil, nil },
		})
		return err
	})
}

// inTurn runs f while no other change of the same record runs in this process.
func (r *Records[T, K]) inTurn(ctx context.Context, id string, f func(id string) error) error {
	leave, err := r.m.db.turns.take(ctx, r.m.key(id))
	if err != nil {
		return r.m.failure(id, err)
	}
	defer leave()
	return f(id)
}

// Rebuild makes every index hold every record: it is for an index that was
// added to a model that has records. Before, all processes that write the
// model must run a release that knows the index; for a minute Rebuild waits
// until those that do not have ended. Unique values that two records hold are
// reported, and nothing is marked as built. After an ErrNotYet the indexes are
// whole, but something that waited in vain for its time takes another Rebuild.
func (r *Records[T, K]) Rebuild(ctx context.Context) error {
	if err := r.m.writable(ctx); err != nil {
		return r.m.failure("rebuild", err)
	}
	if err := r.m.awaitOthers(ctx); err != nil {
		return fmt.Errorf("rebuild %s: %w", r.m.name, err)
	}
	return r.m.rebuild(ctx)
}

// Load fetches what from refers to, each record once, in one trip. References
// to nothing are not in the map.
func Load[F, T any, K comparable](ctx context.Context, r *Records[T, K], from []F, ref func(F) K) (map[K]*T, error) {
	var ids []K
	found := make(map[K]*T)
	for _, f := range from {
		id := ref(f)
		if _, ok := found[id]; !ok && !r.schema.Key.Empty(id) {
			found[id] = nil
			ids = append(ids, id)
		}
	}
	values, err := r.GetMulti(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		found[ids[i]] = v
		if v == nil {
			delete(found, ids[i])
		}
	}
	return found, nil
}

// look reads a record for a user, and keeps it at hand for an update.
func (m *model[T]) look(ctx context.Context, id string) (*plug.Seen[T], error) {
	results, err := kv.GetAll(ctx, m.db.store, m.withCounters([]string{m.key(id)}, []string{id})...)
	if err != nil {
		return nil, err
	}
	m.db.hand.keep(m.key(id), results, m.db.now())
	return m.decodeCounted(id, results)
}

// decodeCounted is decode for the results of a record and its counters.
func (m *model[T]) decodeCounted(id string, results []kv.Result) (*plug.Seen[T], error) {
	rec, err := m.decode(id, results[0])
	if err != nil {
		return nil, err
	}
	return rec, m.count(rec, results[1:])
}

// values reads records for a user; nil where there is none.
func (m *model[T]) values(ctx context.Context, ids []string) ([]*T, error) {
	recs, err := m.see(ctx, m.db.store, ids)
	if err != nil {
		return nil, err
	}
	values := make([]*T, len(recs))
	for i, rec := range recs {
		values[i] = rec.Value
	}
	return values, nil
}
