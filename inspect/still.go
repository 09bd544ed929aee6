package inspect

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/plug"
)

// questions are the faults of a model to check again.
type questions struct {
	state bool     // of the model as a whole
	ids   []string // of records
	keys  []string // of records that may be unlisted
}

// still returns the remaining faults of faults, each once.
func (in *Inspector) still(ctx context.Context, faults []Fault) ([]Fault, error) {
	c := &checking{in: in, listed: make(set), places: make(map[string]string), lacking: make(lacking)}
	byModel := make(map[string]*questions)
	audited := make(map[string]Fault)
	for _, f := range faults {
		if byModel[f.Model] == nil {
			byModel[f.Model] = new(questions)
		}
		q := byModel[f.Model]
		switch {
		case f.audited:
			audited[f.Model+"."+f.Index+" "+f.Key] = f
		case f.Kind == plug.Unlisted:
			q.keys = append(q.keys, f.Key)
		case f.Kind == plug.NotBuilt || f.Kind == plug.LostIDs || f.Kind == plug.DamagedItem && f.Index == "" || f.Kind == plug.DamagedRecord && f.ID == "":
			q.state = true
			if f.Kind == plug.NotBuilt {
				c.lacking[f.Model+"."+f.Index] = 0
			}
		default:
			q.ids = append(q.ids, f.ID)
		}
	}
	for name, q := range byModel {
		if err := c.askAgain(ctx, name, q); err != nil {
			return nil, err
		}
	}
	err := c.auditAgain(ctx, audited)
	return lasting(c.doubts, faults), err
}

// askAgain checks the faults of a model again. Unlisted records may have been listed since.
func (c *checking) askAgain(ctx context.Context, name string, q *questions) error {
	if !q.state && len(q.ids) == 0 && len(q.keys) == 0 {
		return nil
	}
	m, err := c.in.model(name)
	if err == nil && q.state {
		err = c.ids(ctx, m)
	}
	slices.Sort(q.ids)
	for some := range slices.Chunk(slices.Compact(q.ids), at) {
		if err == nil {
			err = c.records(ctx, m, "", some)
		}
	}
	if err == nil && len(q.keys) > 0 {
		err = c.in.list(ctx, m, c.listed)
	}
	if err == nil {
		err = c.unlisted(ctx, q.keys)
	}
	return err
}

// auditAgain runs the audits again that found faults.
func (c *checking) auditAgain(ctx context.Context, faults map[string]Fault) error {
	var all []*audit
	for _, base := range slices.Sorted(maps.Keys(faults)) {
		a, err := c.in.auditOf(faults[base])
		if err != nil {
			return err
		}
		all = append(all, a)
	}
	for some := range slices.Chunk(all, at) {
		if err := c.audits(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// lasting returns all, each once, without pending entries, except those that were pending before:
// their changes can no longer be under way.
func lasting(all, before []Fault) []Fault {
	was := make(map[string]bool)
	for _, f := range before {
		was[f.Text] = true
	}
	var lasting []Fault
	for _, f := range all {
		if f.Kind == plug.PendingEntry {
			if !was[f.Text] {
				continue
			}
			f.Kind = plug.StrayEntry
		}
		lasting = append(lasting, f)
	}
	slices.SortFunc(lasting, func(a, b Fault) int { return strings.Compare(a.order(), b.order()) })
	return slices.Compact(lasting)
}

func (f *Fault) order() string {
	return strings.Join([]string{f.Kind, f.Model, f.Index, f.ID, f.Key, f.Text}, " ")
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
