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

// exact is a board by a field. The records hold the scores, and the write path keeps the board in
// step: a record on the board has its entry at every moment. An entry counts once it is tidied,
// after the commit.
type exact struct{ *core }

var (
	_ plug.Index = exact{}
	_ plug.Bulk  = exact{}
)

// Prepare adds the entry of the new record. In a transaction it counts at once.
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
	err = x.eachPlace(ctx, s, m.Gained, func(s kv.Store, p place) error {
		if p.wrong != "" {
			return nil
		}
		due, err := x.now(p.by).Tidy(ctx, s, m.ID, p.score, stateOf(p.by, recs[0]))
		return x.reports.finish(ctx, s, due, err, x.reports.now)
	})
	for _, text := range m.Gained {
		if p, wrong := parsePlace(text); wrong == nil {
			x.noteLoss(p.by, x.host.DB().Now())
		}
	}
	return err
}

// touched returns the places for After to tidy: in a transaction, new entries need no tidying.
func (x exact) touched(m *plug.Move) []string {
	if x.atomic() { // New entries already count.
		return m.Lost
	}
	return slices.Concat(m.Lost, m.Gained)
}

// After tidies the places that the records left or joined, including those of an earlier try, one
// board at a time.
func (x exact) After(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	all := make(map[string][]keytree.Tidying) // by board
	for _, m := range moves {
		for _, text := range x.touched(m) {
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
		due, err := x.now(by).TidyAll(ctx, s, some)
		return x.reports.finish(ctx, s, due, err, x.reports.together)
	}))
}

// Repair tidies places, adds the entry of rec if it is missing, and makes the counts there exact.
func (x exact) Repair(ctx context.Context, s kv.Store, rec *plug.Seen, places []string) error {
	return x.eachPlace(ctx, s, places, func(s kv.Store, p place) error {
		if p.wrong != "" {
			return nil
		}
		due, err := x.now(p.by).Repair(ctx, s, rec.ID, p.score, stateOf(p.by, rec))
		return x.reports.finish(ctx, s, due, err, x.reports.now)
	})
}

func (x exact) Check(ctx context.Context, s kv.Store, recs []*plug.Seen) ([][]string, error) {
	all := make(map[string]*checked)
	for i, rec := range recs {
		for _, text := range rec.Places {
			p, err := parsePlace(text)
			if err != nil {
				return nil, x.failure(err)
			}
			c := all[p.by]
			if c == nil {
				c = new(checked)
				all[p.by] = c
			}
			c.add(i, rec.ID, p, stateOf(p.by, rec))
		}
	}
	wrong := make([][]string, len(recs))
	err := perBoard(ctx, s, all, func(s kv.Store, by string, c *checked) error {
		has, err := x.now(by).Has(ctx, s, c.ids, c.states)
		for k := range has {
			if !has[k] {
				wrong[c.at[k]] = append(wrong[c.at[k]], fmt.Sprintf("%s.%s: %s has no entry at %s", x.host.Model(), x.name, c.ids[k], c.places[k]))
			}
		}
		return err
	})
	return wrong, x.failure(err)
}

// checked are the records to check on one board.
type checked struct {
	at     []int // indexes into all records
	ids    []string
	places []place
	states []keytree.State
}

func (c *checked) add(at int, id string, p place, st keytree.State) {
	c.at, c.ids = append(c.at, at), append(c.ids, id)
	c.places, c.states = append(c.places, p), append(c.states, st)
}
