package ranking

import (
	"context"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Board is the ranking of the records of type T, with ids of type K, by scores of
// type S. It holds each record once, at the score that it has: its pages show no
// other.
type Board[T any, K comparable, S any] struct {
	view[T]
	of  ScoreOf[S]
	key kvmodel.KeyOf[K]
}

// Place is a record with the place where it stands, from 1.
type Place[T, S any] struct {
	Rank  int
	Score S
	Item  *T
}

// NewBoard returns the board spec describes and plugs it into records.
func NewBoard[T any, K comparable, S any](records *kvmodel.Records[T, K], spec Spec[T, S]) *Board[T, K, S] {
	c := newCore(spec, func(*T) (string, bool) { return "", true })
	plugIn(records, c, spec)
	return boardOf(records, c, spec)
}

func boardOf[T any, K comparable, S any](records *kvmodel.Records[T, K], c *core[T], spec Spec[T, S]) *Board[T, K, S] {
	return &Board[T, K, S]{view[T]{core: c, up: spec.Low}, spec.Of, records.IDs()}
}

func newCore[T, S any](spec Spec[T, S], by func(*T) (string, bool)) *core[T] {
	c := &core[T]{
		shelf: newShelf(), name: spec.Name, def: spec.Def, code: spec.Of.code,
		shared: spec.Shared, per: spec.Per, keep: spec.Keep,
		own: spec.Counter != nil, scored: spec.Score != nil,
	}
	if c.keep == 0 {
		c.keep = keptByDefault
	}
	c.where = func(rec *T) (p place, ok bool) {
		if spec.If != nil && !spec.If(rec) {
			return p, false
		}
		if p.by, ok = by(rec); !ok || spec.Score == nil {
			return p, ok
		}
		score := spec.Score(rec)
		if spec.Of.none(score) {
			return p, false
		}
		var err error
		if p.score, err = spec.Of.to(score); err != nil {
			p.wrong = err.Error()
		}
		return p, true
	}
	return c
}

// plugIn makes c one of the indexes of records.
func plugIn[T any, K comparable, S any](records *kvmodel.Records[T, K], c *core[T], spec Spec[T, S]) {
	if spec.Counter == nil {
		c.host = records.Plug(exact[T]{c})
	} else {
		f := newCounted(c, spec)
		c.host = records.Plug(f)
		c.host.DB().AtFlush(f.flush)
		for _, counter := range append(spec.Also[:len(spec.Also):len(spec.Also)], spec.Counter) {
			counter.Follow(f)
		}
	}
	c.reports = &reporter{db: c.host.DB()}
}

// Page returns up to n records from the place on that cursor stands for, the
// first ones for an empty cursor. keep leaves out records. Two trips.
func (b *Board[T, K, S]) Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	return b.page(ctx, cursor, n, keep)
}

// IDs returns what Page does, as ids alone and unchecked: what a running change
// or a crash has left may be among them. One trip.
func (b *Board[T, K, S]) IDs(ctx context.Context, cursor string, n int) (ids []K, next string, err error) {
	l, err := b.members(ctx, cursor, n, keytree.Want{Unverified: true})
	if err != nil {
		return nil, "", err
	}
	for _, m := range l.Members {
		id, err := b.key.Parse(m.ID)
		if err != nil {
			return nil, "", b.failure(err)
		}
		ids = append(ids, id)
	}
	return ids, b.cursor(l.Next), nil
}

// Table is one page of a board with what to write beside it: "3. of 3,456".
type Table[T, S any] struct {
	Places     []Place[T, S]
	Len        int // of the board
	Next, Prev string
}

// Table returns what Page does, with the places where the records stand. Two trips,
// and where ties share a place now and then a third.
func (b *Board[T, K, S]) Table(ctx context.Context, cursor string, n int) (Table[T, S], error) {
	w := b.want(nil)
	w.Placed = true
	l, err := b.members(ctx, cursor, n, w)
	return Table[T, S]{b.places(l.Part), l.Total, b.cursor(l.Next), b.cursor(l.Prev)}, err
}

// Standing is where one record stands: "12. of 3,456, ahead of 99 %".
type Standing[S any] struct {
	Rank, Len  int
	Percentile float64
	Score      S
}

// Standing returns where the record with id stands; ErrNotFound if it is not on the
// board. Two trips.
func (b *Board[T, K, S]) Standing(ctx context.Context, id K) (Standing[S], error) {
	st, err := b.standing(ctx, id)
	if err != nil {
		return Standing[S]{}, err
	}
	return Standing[S]{st.Before + 1, st.Total, percentile(st), b.of.from(st.Score)}, nil
}

// Rank returns the place of the record with id, from 1; ErrNotFound if it is not
// on the board. Two trips.
func (b *Board[T, K, S]) Rank(ctx context.Context, id K) (int, error) {
	st, err := b.Standing(ctx, id)
	return st.Rank, err
}

// Percentile returns what share of the board's records stand behind that with
// id: 0 for the last one, close to 100 for the first of many. ErrNotFound as of
// Rank. Two trips.
func (b *Board[T, K, S]) Percentile(ctx context.Context, id K) (float64, error) {
	st, err := b.Standing(ctx, id)
	return st.Percentile, err
}

func percentile(st keytree.Standing) float64 {
	return 100 * float64(max(0, st.Total-st.Before-1)) / float64(max(1, st.Total))
}

func (b *Board[T, K, S]) standing(ctx context.Context, id K) (st keytree.Standing, err error) {
	text := b.key.Text(id)
	tree, err := b.open(ctx)
	if err != nil {
		return st, err
	}
	if tree == nil {
		return st, b.about(text, kv.ErrNotFound)
	}
	st, err = tree.Standing(ctx, b.host.Store(), text, b.down(), b.shared)
	return st, b.about(text, err)
}

func (b *Board[T, K, S]) about(id string, err error) error {
	if err == nil {
		return nil
	}
	return b.failure(fmt.Errorf("%q: %w", id, err))
}

// At returns the n records from place rank on, which is 1 for the first. Two
// trips, or as many as the tree is deep in a part that this process has not seen.
func (b *Board[T, K, S]) At(ctx context.Context, rank, n int) ([]Place[T, S], error) {
	if rank < 1 {
		return nil, b.failure(fmt.Errorf("%w: rank %d", kvmodel.ErrInvalid, rank))
	}
	tree, err := b.open(ctx)
	if tree == nil || err != nil {
		return nil, err
	}
	part, err := tree.At(ctx, b.host.Store(), rank-1, n, b.down(), b.shared, b.want(nil))
	return b.places(part), b.failure(err)
}

// Around returns the record with id, up to n that stand before it and up to n
// behind it. ErrNotFound as of Rank. Three trips.
func (b *Board[T, K, S]) Around(ctx context.Context, id K, n int) ([]Place[T, S], error) {
	text := b.key.Text(id)
	tree, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	if tree == nil {
		return nil, b.about(text, kv.ErrNotFound)
	}
	part, err := tree.Around(ctx, b.host.Store(), text, n, b.down(), b.shared, b.want(nil))
	return b.places(part), b.about(text, err)
}

// places returns the members of part with their ranks.
func (b *Board[T, K, S]) places(part keytree.Part) []Place[T, S] {
	places := make([]Place[T, S], len(part.Members))
	for i, m := range part.Members {
		item, _ := m.Value.(*T)
		places[i] = Place[T, S]{rankIn(part, i, b.shared), b.of.from(m.Score), item}
	}
	return places
}

// Len returns how many records the board holds. One trip. It is as exact as
// ranks are.
func (b *Board[T, K, S]) Len(ctx context.Context) (int, error) { return b.count(ctx) }

// Between returns the part of the board with low <= score < high.
func (b *Board[T, K, S]) Between(low, high S) *Span[T] {
	v := b.view
	var errs [2]error
	for i, s := range []S{low, high} {
		score, err := b.of.to(s)
		errs[i] = err
		if i == 0 {
			v.between.Low = &score
		} else {
			v.between.High = &score
		}
	}
	sp := &Span[T]{view: v}
	for _, err := range errs {
		if err != nil {
			sp.wrong = b.failure(err)
		}
	}
	return sp
}

// Ascending returns the board read from its lowest score.
func (b *Board[T, K, S]) Ascending() *Span[T] {
	v := b.view
	v.up = true
	return &Span[T]{view: v}
}

// On returns the board of the period that holds t. A board without periods
// returns itself. One that is not kept any more, or is to come, is empty.
func (b *Board[T, K, S]) On(t time.Time) *Board[T, K, S] {
	on := *b
	on.view.at = t
	return &on
}
