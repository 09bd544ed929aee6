package ranking

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// valuesIndex is the index of values. Being an index of its own, it can be built while the list is
// read, and processes that do not keep it are recognized. The list counts the changes and notifies
// the values.
type valuesIndex struct {
	plug.Unlimited
	*valueTree
	name, def string
	places    func(plug.Record) []string
	met       plug.Places // values seen by a running rebuild
}

var (
	_ plug.Index    = (*valuesIndex)(nil)
	_ plug.Meeter   = (*valuesIndex)(nil)
	_ plug.Finisher = (*valuesIndex)(nil)
	_ plug.Purger   = (*valuesIndex)(nil)
)

func plugValues(records plug.Model, v *valueTree, list, def string, places func(plug.Record) []string) {
	x := &valuesIndex{
		valueTree: v, name: plug.ValuesName(list), places: places,
		def: "values of " + def + " counted in " + v.count.Name(),
	}
	records.Plug(x, func(host plug.Host) {
		v.begin(host.DB(), host.Model(), x.name, host.Ready)
		v.count.FollowSurely(v)
	})
}

func (x *valuesIndex) Name() string { return x.name }

func (x *valuesIndex) Def() string { return x.def }

func (x *valuesIndex) Places(rec plug.Record) []string { return x.places(rec) }

func (x *valuesIndex) Prepare(_ context.Context, _ kv.Store, m *plug.Move) error {
	for _, id := range m.Gained {
		if !fits(id) && !m.Rebuilds() {
			return x.failure(plug.TooLong("a value", id, keytree.MaxID))
		}
	}
	return nil
}

// Beside does nothing: the list counts with the commit.
func (x *valuesIndex) Beside(context.Context, kv.Store, *plug.Move) error { return nil }

// After does nothing: the list notifies the values.
func (x *valuesIndex) After(context.Context, kv.Store, []*plug.Move) error { return nil }

// Repair follows if a dead process may have counted. If its counts are wrong, the list recounts
// them, and the values follow again.
func (x *valuesIndex) Repair(ctx context.Context, s kv.Store, rec *plug.Seen, places []string) error {
	if !rec.Doubt || x.atomic() != nil {
		return nil
	}
	return x.Follow(ctx, s, places)
}

func (x *valuesIndex) Check(ctx context.Context, s kv.Store, recs []*plug.Seen) ([][]string, error) {
	holders := plug.Holders(recs)
	wrong := make([][]string, len(recs))
	for ids := range slices.Chunk(fitting(slices.Sorted(maps.Keys(holders))), membersAtOnce) {
		states, err := x.tree.own.States(ctx, s, ids)
		if err != nil {
			return nil, x.failure(err)
		}
		has, err := x.tree.Has(ctx, s, ids, states)
		if err != nil {
			return nil, x.failure(err)
		}
		for k, id := range ids {
			if has[k] && states[k].In {
				continue
			}
			for _, i := range holders[id] {
				wrong[i] = append(wrong[i], fmt.Sprintf("%s: %s holds %q, which is not among the values", x.title, recs[i].ID, id))
			}
		}
	}
	return wrong, nil
}

// Purge removes the own records of values that no record has any more.
func (x *valuesIndex) Purge(ctx context.Context, s kv.Store, _ string, places []string, fence func() error) error {
	drops, err := x.tree.own.Drops(ctx, s, fitting(places))
	if err == nil && len(drops) > 0 {
		err = fence()
	}
	if err == nil {
		err = s.Do(ctx, drops)
	}
	return x.failure(err)
}

func (x *valuesIndex) Meet(places []string) { x.met.Note(places) }

// Finish enters the values that a rebuild has read, while the list recounts them. It also recounts
// the other values in the tree: a process without this index may have removed the last record of
// one.
func (x *valuesIndex) Finish(ctx context.Context, s kv.Store, _ plug.Steps) error {
	met := fitting(x.met.Take())
	for some := range slices.Chunk(met, followAtOnce) {
		if err := x.enter(ctx, some); err != nil {
			return x.failure(err)
		}
	}
	err := x.recountOthers(ctx, s, met)
	lost, failed := x.tree.Distrust(ctx, s, err)
	if failed != nil {
		return x.failure(failed)
	}
	if lost != 0 {
		if err = x.tree.Rebuild(ctx, s, met, lost); err == nil {
			err = x.recountOthers(ctx, s, met)
		}
	}
	return x.failure(err)
}

// recountOthers recounts the values in the tree that are not in met, which is sorted.
func (x *valuesIndex) recountOthers(ctx context.Context, s kv.Store, met []string) error {
	var others []string
	err := x.tree.Scan(ctx, s, func(ids []string) error {
		for _, id := range ids {
			if _, found := slices.BinarySearch(met, id); !found {
				others = append(others, id)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	left, err := x.count.Recount(ctx, s, others, tally.RecountRounds, func(string) error { return nil })
	if left > 0 {
		err = fmt.Errorf("counters of %d values: %w", left, err)
	}
	return err
}

func fitting(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !fits(id) })
}
