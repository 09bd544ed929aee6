package ranking

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Tree is a ranking without records: of any texts, each with a score. It holds
// each once.
type Tree[S any] struct {
	db      *kvmodel.DB
	spec    TreeSpec[S]
	tree    *keytree.Tree
	own     *keytree.Own
	window  *window
	reports *reporter

	unverified bool
}

// TreeSpec says what a Tree is about.
type TreeSpec[S any] struct {
	Name   string // unique among the trees of the DB, part of stored keys
	Of     ScoreOf[S]
	Low    bool  // the lowest score stands first
	Shared bool  // members with one score stand at one place
	Batch  Batch // when Hit is written
}

// Member is a member of a Tree with the place where it stands, from 1.
type Member[S any] struct {
	Rank  int
	Score S
	ID    string
}

// NewTree returns the tree spec describes, in db.
func NewTree[S any](db *kvmodel.DB, spec TreeSpec[S]) *Tree[S] {
	t := &Tree[S]{db: db, spec: spec}
	name := kv.JoinText(spec.Name)
	t.own = keytree.NewOwn(name, db.Now, time.Time{})
	t.tree = keytree.New(keytree.Config{
		Name: name, Code: spec.Of.code, Truth: t.own, Local: keytree.NewLocal(keptRouters),
		Now: db.Now, Limit: leafLimit,
		Later: func(work func(context.Context, kv.Store) error) {
			db.Soon(func(ctx context.Context) error { return work(ctx, db.Store()) })
		},
	})
	t.window = &window{write: t.addAll}
	t.reports = &reporter{db: db}
	db.AtFlush(t.window.flush)
	return t
}

// Set gives the member id that score, making it a member if it is none. ErrInvalid
// if the score has no place; ErrUnclear as of a store: then it can be called
// again.
func (t *Tree[S]) Set(ctx context.Context, id string, score S) error {
	to, err := t.spec.Of.to(score)
	if err != nil {
		return t.about(id, err)
	}
	return t.change(ctx, id, keytree.To(to))
}

// Delete takes the member id out. It does nothing if there is none.
func (t *Tree[S]) Delete(ctx context.Context, id string) error {
	return t.change(ctx, id, keytree.Out)
}

// Add adds delta to the score of the member id, which is 0 if it is none. Scores
// are integers. After an ErrUnclear it may have been done or not.
func (t *Tree[S]) Add(ctx context.Context, id string, delta int64) error {
	return t.change(ctx, id, t.plus(delta))
}

// Hit adds 1 to the score of the member id, when the tree's batch says so.
//
// Windowed, that is within a second, or when the store answers again, and a process
// that dies takes what it has gathered with it. ErrUnavailable: so much is waiting
// already that this was not counted. Sampled, one call in I adds I, so that a score
// of c is right to about the square root of c*I.
func (t *Tree[S]) Hit(ctx context.Context, id string) error {
	switch t.spec.Batch {
	case Every:
		return t.Add(ctx, id, 1)
	case Sampled:
		if i := interval(t.tree.Size(), 0); chosen(i) {
			t.db.Later(func(ctx context.Context) error { return t.Add(ctx, id, i) })
		}
	default:
		return t.gather(change{id: id, delta: 1})
	}
	return nil
}

// Follow tells the tree that what the caller counts of id has come to count, for
// scores that somebody else keeps exactly: when the tree's batch says so, that
// becomes the score. It is best called with what an increment returned.
//
// Nothing that was counted is lost by a crash. Sampled, a score lags by I calls on
// average, where I is at least a 64th of the count.
func (t *Tree[S]) Follow(ctx context.Context, id string, count int64) error {
	switch t.spec.Batch {
	case Every:
		return t.change(ctx, id, keytree.To(keytree.FromInt(count)))
	case Sampled:
		if chosen(interval(t.tree.Size(), count)) {
			t.db.Later(func(ctx context.Context) error { return t.change(ctx, id, keytree.To(keytree.FromInt(count))) })
		}
	default:
		return t.gather(change{id: id, count: &count})
	}
	return nil
}

func (t *Tree[S]) gather(c change) error {
	if !t.window.add(c, t.db) {
		return t.about(c.id, fmt.Errorf("%w: %d members are waiting to be written", kv.ErrUnavailable, windowMost))
	}
	return nil
}

// plus is the change that adds delta.
func (t *Tree[S]) plus(delta int64) keytree.Change {
	return func(_ context.Context, _ kv.Store, old keytree.State) (keytree.Score, bool, error) {
		if t.spec.Of.code != keytree.Signed {
			return 0, false, fmt.Errorf("%w: only integer scores can be added to", kvmodel.ErrInvalid)
		}
		n := int64(0)
		if old.In {
			n = old.Score.Int()
		}
		return keytree.FromInt(addUpTo(n, delta)), true, nil
	}
}

// addUpTo returns a+b, or the limit that this exceeds.
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
	due := new(keytree.Due)
	err := t.tree.Set(ctx, t.db.Store(), t.own, kv.JoinText(id), change, due)
	t.reports.add(due)
	return t.about(id, err)
}

// addAll adds what was gathered, side by side. What fails is gathered again,
// unless it may have been done.
func (t *Tree[S]) addAll(ctx context.Context, changes []change) error {
	due := new(keytree.Due)
	works := make([]func(kv.Store) error, len(changes))
	for i, c := range changes {
		works[i] = func(s kv.Store) error {
			return t.about(c.id, t.tree.Set(ctx, s, t.own, kv.JoinText(c.id), t.to(c), due))
		}
	}
	errs := kv.Together(ctx, t.db.Store(), works...)
	for i, err := range errs {
		if err != nil && !errors.Is(err, kv.ErrUnclear) && !errors.Is(err, kvmodel.ErrInvalid) {
			t.window.keep(changes[i], t.db)
		}
	}
	t.reports.add(due)
	return errors.Join(errs...)
}

// to is the change that was gathered.
func (t *Tree[S]) to(c change) keytree.Change {
	if c.count != nil {
		return keytree.To(keytree.FromInt(*c.count))
	}
	return t.plus(c.delta)
}

func (t *Tree[S]) about(id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ranking %s: %.100q: %w", t.spec.Name, id, err)
}

func (t *Tree[S]) failure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ranking %s: %w", t.spec.Name, err)
}
