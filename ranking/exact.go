package ranking

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// exact is a board by a field. A record on the board has its entry at every moment; the entry
// counts once it is tidied, after the commit.
type exact struct{ *core }

var (
	_ plug.Index = exact{}
	_ plug.Bulk  = exact{}
)

// In a transaction the new entry counts at once.
func (x exact) Prepare(ctx context.Context, s kv.Store, m *plug.Move) error {
	if x.atomic() && !m.Rebuilds() {
		return x.EnterAll(ctx, s, []*plug.Move{m})
	}
	return x.eachPlace(ctx, s, m.Gained, func(s kv.Store, p place) error {
		if err := p.err(); err != nil {
			return err
		}
		due, err := x.now(p.by).Insert(ctx, s, m.ID, keytree.State{In: true, Score: p.score, Ver: m.Rev})
		if !x.atomic() {
			x.reports.add(due)
			return err
		}
		return x.reports.finish(ctx, s, due, err, x.reports.now)
	})
}

func (x exact) EnterAll(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	all := make(map[string][]keytree.Insertion) // by board
	for _, m := range moves {
		for _, text := range m.Gained {
			p, err := parsePlace(text)
			if err = cmp.Or(err, p.err()); err != nil {
				return x.failure(err)
			}
			all[p.by] = append(all[p.by], keytree.Insertion{ID: m.ID, To: keytree.State{In: true, Score: p.score, Ver: m.Rev}})
		}
	}
	return x.failure(perBoard(ctx, s, all, func(s kv.Store, by string, some []keytree.Insertion) error {
		due, err := x.now(by).InsertNow(ctx, s, some...)
		return x.reports.finish(ctx, s, due, err, x.reports.now)
	}))
}

// Beside makes the entry of a rebuild count, if the record still confirms it.
func (x exact) Beside(ctx context.Context, s kv.Store, m *plug.Move) error {
	if !m.Rebuilds() {
		return nil
	}
	recs, err := x.host.See(ctx, s, m.ID)
	if err != nil {
		return err
	}
	return x.eachPlace(ctx, s, m.Gained, func(s kv.Store, p place) error {
		if p.wrong != "" {
			return nil
		}
		due, err := x.now(p.by).Tidy(ctx, s, keytree.Tidying{ID: m.ID, Score: p.score, Now: x.stateOf(p.by, recs[0])})
		err = x.reports.finish(ctx, s, due, err, x.reports.now)
		x.noteLoss(p.by, x.host.DB().Now())
		return err
	})
}

func (x exact) After(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	all := make(map[string][]keytree.Tidying)
	for _, m := range moves {
		touched := m.Lost
		if !x.atomic() { // where new entries do not count yet
			touched = slices.Concat(m.Lost, m.Gained)
		}
		for _, text := range touched {
			p, err := parsePlace(text)
			if err != nil {
				return x.failure(err)
			}
			if p.wrong == "" {
				all[p.by] = append(all[p.by], keytree.Tidying{ID: m.ID, Score: p.score, Now: stateIn(p.by, m.Is, m.Rev)})
			}
		}
	}
	return x.failure(perBoard(ctx, s, all, func(s kv.Store, by string, some []keytree.Tidying) error {
		due, err := x.now(by).Tidy(ctx, s, some...)
		return x.reports.finish(ctx, s, due, err, x.reports.together)
	}))
}

func (x exact) Repair(ctx context.Context, s kv.Store, rec *plug.Seen, places []string) error {
	return x.eachPlace(ctx, s, places, func(s kv.Store, p place) error {
		if p.wrong != "" {
			return nil
		}
		due, err := x.now(p.by).Repair(ctx, s, rec.ID, p.score, x.stateOf(p.by, rec))
		return x.reports.finish(ctx, s, due, err, x.reports.now)
	})
}

func (exact) Purge(context.Context, kv.Store, plug.Gone, func() error) error { return nil }

func (x exact) Check(ctx context.Context, s kv.Store, recs []*plug.Seen) ([][]string, error) {
	type placed struct {
		rec int
		at  place
	}
	all := make(map[string][]placed)
	for i, rec := range recs {
		for _, text := range rec.Places {
			p, err := parsePlace(text)
			if err != nil {
				return nil, x.failure(err)
			}
			all[p.by] = append(all[p.by], placed{i, p})
		}
	}
	wrong := make([][]string, len(recs))
	err := perBoard(ctx, s, all, func(s kv.Store, by string, some []placed) error {
		ids, states := make([]string, len(some)), make([]keytree.State, len(some))
		for k, p := range some {
			ids[k], states[k] = recs[p.rec].ID, stateIn(by, recs[p.rec].Places, recs[p.rec].Rev)
		}
		has, err := x.now(by).Has(ctx, s, ids, states)
		for k := range has {
			if i := some[k].rec; !has[k] {
				wrong[i] = append(wrong[i], fmt.Sprintf("%s: %s has no entry at %s", x.title, ids[k], some[k].at))
			}
		}
		return err
	})
	return wrong, x.failure(err)
}
