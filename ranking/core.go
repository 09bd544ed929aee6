package ranking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// core is what boards by a field and boards by a counter have in common, without
// the types of ids, scores and values.
type core[T any] struct {
	*shelf
	host    plug.Host[T]
	reports *reporter

	name, def string
	code      keytree.Code
	where     func(*T) (place, bool) // where a record belongs, if anywhere
	many      bool                   // there is a board for each value
	shared    bool
	scored    bool // the score is the record's own
	per       Period
	keep      int

	// own tells whether members have records of their own, since those of the
	// model do not hold the score.
	own bool

	// catchUp brings members of the board of a value to what has been counted of
	// them, of which the board may have missed something; nil if nothing is
	// counted.
	catchUp func(ctx context.Context, by string, at time.Time, ids []string) error
}

// Name returns the board's name.
func (c *core[T]) Name() string { return c.name }

// Def returns the board's definition.
func (c *core[T]) Def() string { return c.def }

// Places returns the place where rec belongs, if there is one.
func (c *core[T]) Places(rec *T) []string {
	if p, ok := c.where(rec); ok {
		return []string{p.String()}
	}
	return nil
}

// member is a tree with what its members' records are.
type member[T any] struct {
	*keytree.Tree
	own *keytree.Own // nil: the model's own records say it
}

// tree returns the tree of a value in the period that holds at.
func (c *core[T]) tree(by string, at time.Time) member[T] {
	name := kv.JoinText(c.host.Model(), c.name)
	if c.many {
		name += ":" + by
	}
	var expires time.Time
	if c.per != Forever {
		name += ":" + kv.JoinText(c.per.name(at))
		expires = c.per.add(at, c.keep)
	}
	db := c.host.DB()
	var own *keytree.Own
	if c.own {
		own = keytree.NewOwn(name, db.Now, expires)
	}
	tree := c.shelf.tree(name, func() keytree.Config {
		config := keytree.Config{Limit: leafLimit, Code: c.code, Now: db.Now, Expires: expires, Later: c.soon}
		if c.own {
			config.Truth = own
		} else {
			config.Truth = fieldTruth[T]{c, by}
		}
		return config
	})
	return member[T]{tree, own}
}

// leafLimit is how many entries a leaf holds; 0 is the tree's own. Tests make it
// small.
var leafLimit = 0

// soon does upkeep that others can do as well.
func (c *core[T]) soon(work func(context.Context, kv.Store) error) {
	c.host.DB().Soon(func(ctx context.Context) error { return work(ctx, c.host.Store()) })
}

// settle makes the reports that a change has left: at once where they are part
// of one transaction with it, after the reply elsewhere.
func (c *core[T]) settle(ctx context.Context, s kv.Store, due *keytree.Due) error {
	switch {
	case due == nil || due.None():
		return nil
	case kv.PowersOf(c.host.Store()).Atomic != nil:
		return due.Report(ctx, s)
	}
	c.reports.add(due)
	return nil
}

// at returns the place that a text of the write path stands for.
func (c *core[T]) at(text string) (place, error) {
	p, err := parsePlace(text)
	if err != nil {
		return p, c.failure(err)
	}
	return p, nil
}

// stateIn returns the state of a member in the board of by, given the places that
// its record has at rev.
func stateIn(by string, places []string, rev uint64) keytree.State {
	for _, text := range places {
		if p, err := parsePlace(text); err == nil && p.wrong == "" && p.by == by {
			return keytree.State{In: true, Score: p.score, Ver: rev}
		}
	}
	return keytree.State{Ver: rev}
}

func (c *core[T]) failure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s.%s: %w", c.host.Model(), c.name, err)
}

// eachPlace does step for places side by side.
func (c *core[T]) eachPlace(ctx context.Context, s kv.Store, places []string, step func(kv.Store, place) error) error {
	works := make([]func(kv.Store) error, len(places))
	for i, text := range places {
		works[i] = func(s kv.Store) error {
			p, err := c.at(text)
			if err != nil {
				return err
			}
			return step(s, p)
		}
	}
	return c.failure(errors.Join(kv.Together(ctx, s, works...)...))
}

// fieldTruth says of the members of one tree what the model's records say.
type fieldTruth[T any] struct {
	c  *core[T]
	by string
}

// States reads the records of ids.
func (ft fieldTruth[T]) States(ctx context.Context, s kv.Store, ids []string) ([]keytree.State, error) {
	recs, err := ft.c.host.See(ctx, s, ids...)
	if err != nil {
		return nil, err
	}
	states := make([]keytree.State, len(recs))
	for i, rec := range recs {
		states[i] = stateIn(ft.by, rec.Places, rec.Rev)
		states[i].Value = rec.Value
		states[i].Apart = !states[i].In && rec.Value != nil
	}
	return states, nil
}
