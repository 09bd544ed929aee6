package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Export writes all data that cannot be built again: records with their counters and histories,
// data of no model, and sessions. Others may write meanwhile: each record is exported as it was at
// some moment. Import and Diff read it, on any store.
func (in *Inspector) Export(ctx context.Context, w io.Writer, p Pace) (Summary, error) {
	if len(in.models) == 0 && len(in.alone) == 0 {
		return Summary{}, errEmpty
	}
	h := Header{Format: exportFormat, Made: in.db.Now().UTC(), Models: make(map[string]int)}
	for _, m := range in.models {
		h.Models[m.Name()] = m.Version()
	}
	out, err := newExportWriter(w, h)
	if err != nil {
		return Summary{}, err
	}
	sum, err := in.all(ctx, "export", p)(out.put)
	if err != nil {
		return Summary{}, err
	}
	return sum, out.end(sum)
}

// A source calls f with all items of a database or an export, in batches.
type source func(f func([]item) error) (Summary, error)

func (in *Inspector) all(ctx context.Context, verb string, p Pace) source {
	return func(f func([]item) error) (Summary, error) {
		t := newTally()
		err := in.items(ctx, verb, p, func(items []item) error {
			for i := range items {
				t.add(&items[i])
			}
			return f(items)
		})
		return t.summary(), err
	}
}

func (in *Inspector) items(ctx context.Context, verb string, p Pace, f func([]item) error) error {
	for _, m := range in.models {
		st, err := m.State(ctx)
		if err == nil {
			err = in.records(ctx, m, p.begin(verb, m.Name(), st.IDs), f)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name(), err)
		}
	}
	return in.others(ctx, p.begin(verb, "keys", 0), f)
}

// ImportOptions configure an import.
type ImportOptions struct {
	Pace
	Merge   bool // of two versions of a record the one with the higher rev stays; other existing items stay
	Replace bool // afterwards the database holds exactly the imported data
}

// ErrNotEmpty means that a database to import into has records.
var ErrNotEmpty = errors.New("the database is not empty")

// Import reads an export into the database, and builds the indexes. No one else may write
// meanwhile. After an interruption, indexes are incomplete until Import with Merge or Replace has
// continued.
func (in *Inspector) Import(ctx context.Context, r io.Reader, o ImportOptions) (Summary, error) {
	from, err := newExportReader(r)
	if err != nil {
		return Summary{}, err
	}
	pace := o.Pace.begin("import", "items", 0)
	return in.importFrom(ctx, slices.Sorted(maps.Keys(from.header.Models)), o, pace, from.each)
}

// Copy copies the database into another one, like Export and Import.
func (in *Inspector) Copy(ctx context.Context, to *Inspector, o ImportOptions) (Summary, error) {
	pace := o.Pace.begin("copy", "items", 0)
	return to.importFrom(ctx, in.names(), o, pace, in.all(ctx, "copy", Pace{Rate: o.Rate}))
}

func (in *Inspector) importFrom(ctx context.Context, names []string, o ImportOptions, p *pacer, from source) (Summary, error) {
	models, err := in.importedModels(ctx, names, o)
	if err != nil {
		return Summary{}, err
	}
	if o.Replace {
		return in.replace(ctx, models, p, from)
	}
	if err := in.prepare(ctx, models); err != nil {
		return Summary{}, err
	}
	sum, err := from(func(items []item) error {
		if err := in.enlist(ctx, items); err != nil {
			return err
		}
		if err := inTrips(items, func(some []item) error { return in.putAll(ctx, some, o.Merge) }); err != nil {
			return err
		}
		return p.did(ctx, len(items), "")
	})
	if err != nil {
		return sum, err
	}
	return sum, in.rebuild(ctx, models, o.Progress)
}

func (in *Inspector) prepare(ctx context.Context, models []model) error {
	for _, m := range models {
		if err := m.Prepare(ctx, isRing(m)); err != nil {
			return err
		}
	}
	return nil
}

func (in *Inspector) importedModels(ctx context.Context, names []string, o ImportOptions) (models []model, err error) {
	if err := in.db.Writable(); err != nil {
		return nil, err
	}
	for _, name := range names {
		m, err := in.model(name)
		if err != nil {
			return nil, err
		}
		st, err := m.State(ctx)
		if err != nil {
			return nil, err
		}
		if st.IDs > 0 && !o.Merge && !o.Replace {
			return nil, fmt.Errorf("%w: it has about %d records of %s", ErrNotEmpty, st.IDs, name)
		}
		models = append(models, m)
	}
	return models, nil
}

// isRing reports which indexes are made from the places in the records, without a build.
func isRing(m model) func(index string) bool {
	return func(index string) bool {
		return slices.ContainsFunc(m.windows, func(w plug.Window) bool { return w.Name() == index && w.Kind() == "timeline" })
	}
}

func (in *Inspector) enlist(ctx context.Context, items []item) error {
	ids := make(map[string][]string)
	for i := range items {
		if it := &items[i]; it.kind == record {
			ids[it.model] = append(ids[it.model], it.id)
		}
	}
	for name, some := range ids {
		m, err := in.model(name)
		if err == nil {
			err = m.Enlist(ctx, some)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (in *Inspector) putAll(ctx context.Context, items []item, merge bool) error {
	var ops []kv.Op
	var put []*item
	for i := range items {
		it := &items[i]
		ttl, ended, err := it.lives(in)
		if err != nil {
			return fmt.Errorf("%s: %w", it.of(), err)
		}
		key, err := it.keyIn(in)
		if err != nil {
			return err
		}
		if ended {
			continue
		}
		ops, put = append(ops, kv.OpAdd(key, it.value).For(ttl)), append(put, it)
	}
	_ = in.db.Store().Do(ctx, ops) // Each op has its own result.
	for i := range ops {
		err := ops[i].Err()
		switch {
		case errors.Is(err, kv.ErrExists):
			err = in.putOver(ctx, put[i], ops[i], merge)
		case errors.Is(err, kv.ErrUnclear):
			err = kv.Unclear(in.putOver(ctx, put[i], ops[i], merge))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (in *Inspector) putOver(ctx context.Context, it *item, op kv.Op, merge bool) error {
	return kv.Change(op.Key, func() error {
		got, err := kv.One(ctx, in.db.Store(), kv.OpGet(op.Key))
		if errors.Is(err, kv.ErrNotFound) {
			_, err = kv.One(ctx, in.db.Store(), op)
			return err
		}
		if err != nil || bytes.Equal(got.Value, it.value) {
			return err
		}
		m, err := in.model(it.model)
		if it.kind != record || err != nil || !merge {
			return nil // The existing value stays.
		}
		there, mine := m.Decode(it.id, got.Value), m.Decode(it.id, it.value)
		if there.Err == nil && there.Envelope.Rev >= mine.Envelope.Rev {
			return nil
		}
		_, err = kv.One(ctx, in.db.Store(), kv.OpSwap(op.Key, got.Version, it.value).For(op.TTL))
		return err
	})
}

func (in *Inspector) rebuild(ctx context.Context, models []model, progress func(Step)) error {
	if err := in.prepare(ctx, models); err != nil {
		return err
	}
	return in.build(ctx, models, true, progress)
}

// Difference is a difference between two databases.
type Difference struct {
	What string `json:"what"` // the record, or the key
	Says string `json:"says"` // "only here", "only there", "differs"
}

const (
	onlyHere  = "only here"
	onlyThere = "only there"
)

// Differences are the result of Diff.
type Differences struct {
	Same  int64 // records and other items
	All   int64 // differences
	First []Difference
	Sum   string // of this database
}

const differencesKept = 1000

func (d *Differences) add(what, says string) {
	d.All++
	if len(d.First) < differencesKept {
		d.First = append(d.First, Difference{what, says})
	}
}

// Diff compares the records, counters and histories of two databases, on any stores, and the
// indexes without records. Check compares the other indexes with the records.
func (in *Inspector) Diff(ctx context.Context, with *Inspector, p Pace) (Differences, error) {
	return with.diff(ctx, in.all(ctx, "diff", p), onlyHere, onlyThere, p)
}

// DiffFile compares the database with an export.
func (in *Inspector) DiffFile(ctx context.Context, r io.Reader, p Pace) (Differences, error) {
	from, err := newExportReader(r)
	if err != nil {
		return Differences{}, err
	}
	pace := p.begin("diff", "items of the export", 0)
	return in.diff(ctx, func(f func([]item) error) (Summary, error) {
		return from.each(func(items []item) error {
			if err := f(items); err != nil {
				return err
			}
			return pace.did(ctx, len(items), "")
		})
	}, onlyThere, onlyHere, p)
}

// missing and extra say that only one of the two has an item.
func (in *Inspector) diff(ctx context.Context, from source, missing, extra string, p Pace) (d Differences, err error) {
	has := make(set)
	sum, err := from(func(items []item) error {
		fresh, err := in.those(items, has.add)
		if err != nil {
			return err
		}
		return in.compare(ctx, fresh, &d, missing)
	})
	if err != nil {
		return d, err
	}
	d.Sum = sum.Sum
	return d, in.items(ctx, "diff", p, func(items []item) error {
		rest, err := in.those(items, has.lacks)
		for i := range rest {
			d.add(rest[i].of(), extra)
		}
		return err
	})
}

func (in *Inspector) compare(ctx context.Context, items []item, d *Differences, missing string) error {
	_, results, err := in.stored(ctx, items)
	if err != nil {
		return err
	}
	for i := range items {
		it := &items[i]
		_, ended, _ := it.lives(in)
		switch {
		case results[i].Err != nil && ended: // It has expired since.
		case results[i].Err != nil:
			d.add(it.of(), missing)
		case in.same(it, results[i].Value):
			d.Same++
		default:
			d.add(it.of(), "differs")
		}
	}
	return nil
}

func (in *Inspector) stored(ctx context.Context, items []item) (keys []string, results []kv.Result, err error) {
	keys, err = in.keysOf(items)
	if err == nil {
		results, err = kv.GetAll(ctx, in.store, keys...)
	}
	return keys, results, err
}

// same ignores the marks of indexes and the revs of records, since a build changes both.
func (in *Inspector) same(it *item, value []byte) bool {
	if bytes.Equal(it.value, value) {
		return true
	}
	m, err := in.model(it.model)
	if it.kind != record || err != nil {
		return false
	}
	a, b := m.Decode(it.id, it.value), m.Decode(it.id, value)
	return a.Err == nil && b.Err == nil && a.Envelope.Deleted == b.Envelope.Deleted && a.Envelope.Expires == b.Envelope.Expires &&
		a.Envelope.Model == b.Envelope.Model && bytes.Equal(a.Envelope.Body, b.Envelope.Body)
}

// VerifyExport reads a whole export. An error names the fault and its position.
func VerifyExport(r io.Reader) (Header, Summary, error) {
	from, err := newExportReader(r)
	if err != nil {
		return Header{}, Summary{}, err
	}
	sum, err := from.each(func([]item) error { return nil })
	return from.header, sum, err
}

type replacing struct {
	in      *Inspector
	models  []model
	changed []model // models with written data
	has     set     // the keys of the imported items
}

// replace writes only the differences, and builds the indexes of changed models.
func (in *Inspector) replace(ctx context.Context, models []model, p *pacer, from source) (Summary, error) {
	r := &replacing{in: in, models: models, has: make(set)}
	sum, err := from(func(items []item) error {
		fresh, err := in.those(items, r.has.add)
		if err != nil {
			return err
		}
		if err := inTrips(fresh, func(some []item) error { return r.put(ctx, some) }); err != nil {
			return err
		}
		return p.did(ctx, len(items), "")
	})
	if err == nil {
		err = in.items(ctx, "compare", Pace{Rate: p.Rate, Progress: p.Progress}, func(items []item) error {
			rest, err := in.those(items, r.has.lacks)
			if err != nil {
				return err
			}
			return r.remove(ctx, rest)
		})
	}
	if err != nil {
		return sum, err
	}
	return sum, r.build(ctx, p.Progress)
}

func (r *replacing) build(ctx context.Context, progress func(Step)) error {
	if err := r.in.rebuild(ctx, r.changed, progress); err != nil {
		return err
	}
	return r.in.build(ctx, r.models, false, progress)
}

func (r *replacing) change(ctx context.Context, it *item) (model, error) {
	m, err := r.in.model(it.model)
	if err != nil || slices.ContainsFunc(r.changed, func(c model) bool { return c.Name() == m.Name() }) {
		return m, err
	}
	r.changed = append(r.changed, m)
	return m, r.in.prepare(ctx, []model{m})
}

func (r *replacing) put(ctx context.Context, items []item) error {
	keys, results, err := r.in.stored(ctx, items)
	if err != nil {
		return err
	}
	for i := range items {
		if results[i].Err == nil && r.in.same(&items[i], results[i].Value) {
			continue
		}
		if err := r.putOne(ctx, &items[i], keys[i], results[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *replacing) putOne(ctx context.Context, it *item, key string, there kv.Result) error {
	ttl, ended, err := it.lives(r.in)
	if err != nil || ended && there.Err != nil {
		return err
	}
	op := kv.OpSet(key, it.value).For(ttl)
	if ended {
		op = kv.OpDelete(key)
	}
	if it.kind == kept {
		return r.do(ctx, op)
	}
	m, err := r.change(ctx, it)
	if err == nil && it.kind == record {
		err = m.Enlist(ctx, []string{it.id})
	}
	if err == nil {
		err = r.do(ctx, op)
	}
	if err != nil || it.kind != record || there.Err != nil {
		return err
	}
	return m.Remove(ctx, it.id, m.Decode(it.id, there.Value).Places)
}

func (r *replacing) do(ctx context.Context, op kv.Op) error {
	_, err := kv.One(ctx, r.in.db.Store(), op)
	if op.Kind == kv.Delete && errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}

func (r *replacing) remove(ctx context.Context, items []item) error {
	for i := range items {
		it := &items[i]
		key, err := it.keyIn(r.in)
		if err != nil {
			return err
		}
		if it.kind != kept {
			m, err := r.change(ctx, it)
			if err == nil && it.kind == record {
				err = purge(ctx, m, it.id, Pace{})
			}
			if err != nil {
				return err
			}
		}
		if err := r.do(ctx, kv.OpDelete(key)); err != nil {
			return err
		}
	}
	return nil
}
