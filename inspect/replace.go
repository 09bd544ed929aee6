package inspect

import (
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// replacing is an import after which a database holds exactly the imported data.
type replacing struct {
	in      *Inspector
	models  []model
	changed []model // models with written data
	has     set     // the keys of the imported items
}

// replace makes the database hold exactly the items of from. It writes only the differences,
// and builds the indexes of changed models.
func (in *Inspector) replace(ctx context.Context, models []model, p *pacer, from source) (Summary, error) {
	r := &replacing{in: in, models: models, has: make(set)}
	sum, err := from(func(items []item) error {
		fresh, err := in.those(items, r.has.add)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(fresh, at) {
			if err := r.put(ctx, some); err != nil {
				return err
			}
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

// build builds the indexes of changed models, and those left unbuilt by an earlier call.
func (r *replacing) build(ctx context.Context, progress func(Step)) error {
	if err := r.in.build(ctx, r.changed, progress); err != nil {
		return err
	}
	for _, m := range r.models {
		if err := r.in.buildOne(ctx, m, false, progress); err != nil {
			return err
		}
	}
	return nil
}

// change marks the indexes of the item's model as incomplete, before the first write to it.
func (r *replacing) change(ctx context.Context, it *item) (model, error) {
	m, err := r.in.model(it.model)
	if err != nil || slices.ContainsFunc(r.changed, func(c model) bool { return c.Name() == m.Name() }) {
		return m, err
	}
	r.changed = append(r.changed, m)
	return m, r.in.prepare(ctx, []model{m})
}

// put stores the items that are missing or different.
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

// putOne stores it under key in place of there.
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
	return m.Settle(ctx, it.id, m.Decode(it.id, there.Value).Places)
}

// do runs op. Deleting a missing item is no error.
func (r *replacing) do(ctx context.Context, op kv.Op) error {
	_, err := kv.One(ctx, r.in.db.Store(), op)
	if op.Kind == kv.Delete && errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}

// remove deletes items, which were not imported.
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
