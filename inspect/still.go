package inspect

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// still returns the remaining faults of faults, each once.
func (in *Inspector) still(ctx context.Context, faults []Fault) ([]Fault, error) {
	v := &verifying{in: in, seen: make(map[Fault]bool), unbuilt: make(lacking)}
	byRecord := make(map[string][]string) // ids by model
	byBase := make(map[string]Fault)
	models := make(map[string]bool)
	unlisted := make(map[string][]string)
	for _, f := range faults {
		switch {
		case f.audited:
			byBase[f.Model+"."+f.Index+" "+f.Key] = f
		case f.Kind == plug.Unlisted:
			unlisted[f.Model] = append(unlisted[f.Model], f.ID)
		case f.Kind == plug.NotBuilt || f.Kind == plug.LostIDs || f.Kind == plug.DamagedItem && f.Index == "" || f.Kind == plug.DamagedRecord && f.ID == "":
			models[f.Model] = true
			if f.Kind == plug.NotBuilt {
				v.unbuilt[f.Model+"."+f.Index] = 0
			}
		default:
			byRecord[f.Model] = append(byRecord[f.Model], f.ID)
		}
	}
	for name := range models {
		if err := v.state(ctx, name); err != nil {
			return v.all, err
		}
	}
	for name, ids := range byRecord {
		if err := v.records(ctx, name, ids); err != nil {
			return v.all, err
		}
	}
	if err := v.bases(ctx, byBase); err != nil {
		return v.all, err
	}
	for name, ids := range unlisted {
		if err := v.unlisted(ctx, name, ids); err != nil {
			return v.all, err
		}
	}
	v.all = lasting(v.all, faults)
	slices.SortFunc(v.all, func(a, b Fault) int {
		return strings.Compare(a.Kind+" "+a.Model+" "+a.Index+" "+a.ID+" "+a.Key, b.Kind+" "+b.Model+" "+b.Index+" "+b.ID+" "+b.Key)
	})
	return v.all, nil
}

// lasting returns all without pending entries, except those that were pending before: their changes
// can no longer be under way.
func lasting(all, before []Fault) []Fault {
	was := make(map[string]bool)
	for _, f := range before {
		was[f.Text] = true
	}
	var lasting []Fault
	for _, f := range all {
		if f.Kind == plug.Pending {
			if !was[f.Text] {
				continue
			}
			f.Kind = plug.StrayEntry
		}
		lasting = append(lasting, f)
	}
	return lasting
}

// verifying is a second check of faults.
type verifying struct {
	in   *Inspector
	all  []Fault
	seen map[Fault]bool

	unbuilt lacking // the indexes that faults report as not built
}

func (v *verifying) add(f Fault) {
	if !v.seen[f] {
		v.seen[f] = true
		v.all = append(v.all, f)
	}
}

// look adds the doubts of f.
func (v *verifying) look(f func(c *checking) error) error {
	c := &checking{in: v.in, places: make(map[string]string), lacking: maps.Clone(v.unbuilt)}
	err := f(c)
	for _, fault := range c.doubts {
		v.add(fault)
	}
	return err
}

func (v *verifying) state(ctx context.Context, name string) error {
	m, err := v.in.model(name)
	if err != nil {
		return err
	}
	return v.look(func(c *checking) error { return c.ids(ctx, m) })
}

func (v *verifying) records(ctx context.Context, name string, ids []string) error {
	m, err := v.in.model(name)
	if err != nil {
		return err
	}
	slices.Sort(ids)
	for some := range slices.Chunk(slices.Compact(ids), at) {
		if err := v.look(func(c *checking) error { return c.records(ctx, m, "", some) }); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifying) bases(ctx context.Context, byBase map[string]Fault) error {
	var all []*audit
	for _, base := range slices.Sorted(maps.Keys(byBase)) {
		a, err := v.in.auditOf(byBase[base])
		if err != nil {
			return err
		}
		all = append(all, a)
	}
	for some := range slices.Chunk(all, at) {
		if err := v.look(func(c *checking) error { return c.audits(ctx, some) }); err != nil {
			return err
		}
	}
	return nil
}

// auditOf returns the audit that found f.
func (in *Inspector) auditOf(f Fault) (*audit, error) {
	name := strings.TrimPrefix(f.Model+"."+f.Index, ".")
	m, w, err := in.window(name)
	if err != nil {
		return nil, err
	}
	return &audit{owner: owner{model: m, window: w, base: f.Key}, place: f.place}, nil
}

// unlisted checks ids against the ids of a model again, since some may have been added.
func (v *verifying) unlisted(ctx context.Context, name string, ids []string) error {
	m, err := v.in.model(name)
	if err != nil {
		return err
	}
	missing := make(map[string]bool)
	for _, id := range ids {
		missing[id] = true
	}
	err = m.IDs(ctx, "", func(ids []string, _ string) error {
		for _, id := range ids {
			delete(missing, id)
		}
		return nil
	})
	if err := new(checking).state(m, err); err != nil {
		return err
	}
	for id := range missing {
		results, err := kv.GetAll(ctx, v.in.store, m.Key(id))
		if err != nil {
			return err
		}
		if results[0].Err != nil {
			continue
		}
		if s := m.Decode(id, results[0].Value); s.Live() {
			v.add(unlistedFault(&m, id, m.Key(id)))
		}
	}
	return nil
}
