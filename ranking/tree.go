package ranking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Tree is a board without records: it ranks any texts, its members, each with
// one score.
type Tree[S any] struct {
	db      plug.DB
	spec    TreeSpec[S]
	tree    *keytree.Tree
	own     *keytree.Own
	window  *window
	reports *reporter
}

// TreeSpec describes a Tree.
type TreeSpec[S any] struct {
	Name   string // unique among the trees of the DB, part of stored keys
	Of     ScoreOf[S]
	Low    bool  // the lowest score comes first
	Shared bool  // members with one score have one rank
	Batch  Batch // when Hit and Follow are written
}

// Member is a member of a Tree with its rank, from 1.
type Member[S any] struct {
	Rank  int
	Score S
	ID    string
}

// NewTree returns the tree spec describes, in db. Its scores are no texts.
func NewTree[S any](in *kvmodel.DB, spec TreeSpec[S]) *Tree[S] {
	if spec.Of.isText() {
		panic("ranking: the tree " + spec.Name + " cannot be of texts: only records say them")
	}
	db := in.Named("", spec.Name)
	t := &Tree[S]{db: db, spec: spec, reports: newReporter(db)}
	own := newOwnTree(db, spec.Of.code, spec.Name)
	t.tree, t.own = own.Tree, own.own
	t.window = newWindow(db, t.reports)
	t.window.size, t.window.apply, t.window.again = t.tree.Size, t.apply, repeatable
	db.AtFlush(t.window.flush)
	own.finishes(db, t.reports, spec.Name)
	in.Plug(treeWindow[S]{t})
	return t
}

// Set gives the member id that score, and adds the member if there is none. It
// returns ErrInvalid for a score that cannot be ordered. After ErrUnclear, as a
// store returns it, Set can be called again.
func (t *Tree[S]) Set(ctx context.Context, id string, score S) error {
	ctx, end := t.db.Begin(ctx, "Set")
	defer end()
	to, err := t.spec.Of.to(score)
	if err != nil {
		return t.about(id, err)
	}
	return t.change(ctx, id, keytree.To(to))
}

// Delete removes the member id, if there is one.
func (t *Tree[S]) Delete(ctx context.Context, id string) error {
	ctx, end := t.db.Begin(ctx, "Delete")
	defer end()
	return t.change(ctx, id, keytree.Out)
}

// Add adds delta to the score of the member id; a new member starts at 0. Scores
// must be integers. After ErrUnclear, delta may have been added or not. ErrCorrupt: the
// member's record is damaged, and Set or Mend writes it again.
func (t *Tree[S]) Add(ctx context.Context, id string, delta int64) error {
	ctx, end := t.db.Begin(ctx, "Add")
	defer end()
	return t.change(ctx, id, t.plus(delta))
}

// Hit adds 1 to the score of the member id, at the time the tree's Batch says.
//
// Windowed, it is added within a second, or when the store answers again. A
// process that dies loses what it has gathered. What it has gathered for a member whose
// record is damaged is lost, with an error in the log. Hit returns ErrUnavailable, and
// does not count, if too much is already waiting. Sampled, one call in I adds I,
// so a score of c is right to about the square root of c*I.
func (t *Tree[S]) Hit(ctx context.Context, id string) error {
	ctx, end := t.db.Begin(ctx, "Hit")
	defer end()
	if err := t.db.Writable(); err != nil {
		return t.about(id, err)
	}
	switch t.spec.Batch {
	case Every:
		return t.Add(ctx, id, 1)
	case Sampled:
		if i := interval(t.tree.Size(), 0); chosen(i) {
			t.db.Later(ctx, func(ctx context.Context) error { return t.Add(ctx, id, i) })
		}
	default:
		return t.gather(change{id: id, delta: 1})
	}
	return nil
}

// Follow makes count the score of the member id, at the time the tree's Batch
// says. It is for scores that the caller counts exactly elsewhere: call it with
// what the increment returned.
//
// A crash loses nothing that was counted: the next call brings it. Sampled, a
// score lags by I calls on average, where I is at least a 64th of the count.
func (t *Tree[S]) Follow(ctx context.Context, id string, count int64) error {
	ctx, end := t.db.Begin(ctx, "Follow")
	defer end()
	if err := t.db.Writable(); err != nil {
		return t.about(id, err)
	}
	follow := func(ctx context.Context) error { return t.change(ctx, id, keytree.To(keytree.FromInt(count))) }
	switch t.spec.Batch {
	case Every:
		return follow(ctx)
	case Sampled:
		if chosen(interval(t.tree.Size(), count)) {
			t.db.Later(ctx, follow)
		}
	default:
		return t.gather(change{id: id, count: &count})
	}
	return nil
}

func (t *Tree[S]) gather(c change) error {
	if !t.window.add(c) {
		return t.about(c.id, fmt.Errorf("%w: %d members are waiting to be written", kv.ErrUnavailable, t.window.most))
	}
	return nil
}

// plus is the change that adds delta.
func (t *Tree[S]) plus(delta int64) keytree.Change {
	return func(_ context.Context, _ kv.Store, old keytree.State) (keytree.State, error) {
		if t.spec.Of.code != keytree.Signed {
			return old, fmt.Errorf("%w: only integer scores can be added to", kvmodel.ErrInvalid)
		}
		if old.Broken != nil {
			return old, old.Broken
		}
		n := int64(0)
		if old.In {
			n = old.Score.Int()
		}
		return keytree.State{In: true, Score: keytree.FromInt(addUpTo(n, delta))}, nil
	}
}

// addUpTo returns a+b, or the limit that the sum exceeds.
func addUpTo(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

func (t *Tree[S]) change(ctx context.Context, id string, change keytree.Change) error {
	if err := t.db.Writable(); err != nil {
		return t.about(id, err)
	}
	ctx, cancel := t.db.Patient(ctx)
	defer cancel()
	var made error
	err := t.reports.making(ctx, func(s kv.Store, due *keytree.Due) {
		made = t.tree.Set(ctx, s, t.own, kv.JoinText(id), change, due)
	})
	return t.about(id, cmp.Or(made, err))
}

// apply makes changes that were gathered.
func (t *Tree[S]) apply(ctx context.Context, s kv.Store, changes []change, due *keytree.Due) []error {
	settings := make([]keytree.Setting, len(changes))
	for i, c := range changes {
		settings[i].ID = kv.JoinText(c.id)
	}
	errs := t.tree.SetAll(ctx, s, t.own, settings, t.made(changes), due)
	for i, c := range changes {
		errs[i] = t.about(c.id, errs[i])
	}
	return errs
}

// made returns what makes changes that were gathered. It reads nothing.
func (t *Tree[S]) made(changes []change) keytree.Changes {
	return func(ctx context.Context, s kv.Store, settings []int, old []keytree.State) ([]keytree.State, []error) {
		to, errs := make([]keytree.State, len(old)), make([]error, len(old))
		for i, setting := range settings {
			c := changes[setting]
			change := t.plus(c.delta)
			if c.count != nil {
				change = keytree.To(keytree.FromInt(*c.count))
			}
			to[i], errs[i] = change(ctx, s, old[i])
		}
		return to, errs
	}
}

// repeatable reports whether a change that failed with err was certainly not
// made, and may succeed later by itself.
func repeatable(err error) bool {
	return !errors.Is(err, kv.ErrUnclear) && !errors.Is(err, kvmodel.ErrInvalid) && !wire.IsCorrupt(err)
}

func (t *Tree[S]) about(id string, err error) error { return t.reader().about(id, err) }
