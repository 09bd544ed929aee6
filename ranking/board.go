package ranking

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Board ranks records of type T, with ids of type K, by scores of type S. Each record appears once,
// at its current score.
type Board[T any, K comparable, S any] struct {
	part part
	of   ScoreOf[S]
	text func(*T) S
	key  kvmodel.KeyOf[K]
}

// Place is a record with its rank, from 1.
type Place[T, S any] struct {
	Rank  int
	Score S
	Item  *T
}

// NewBoard returns the board described by spec and plugs it into records.
func NewBoard[T any, K comparable, S any](records *kvmodel.Records[T, K], spec Spec[T, S]) *Board[T, K, S] {
	c := newCore(spec, func(*T) []string { return []string{""} })
	plugIn(records, c, spec)
	return boardOf(records, c, spec)
}

func boardOf[T any, K comparable, S any](records *kvmodel.Records[T, K], c *core, spec Spec[T, S]) *Board[T, K, S] {
	return &Board[T, K, S]{part{core: c, up: spec.Low}, spec.Of, spec.Score, records.IDs()}
}

// Page returns up to n records from the position of cursor, or the first ones for an empty cursor.
// It skips records that a keep function rejects; after ten times n entries it returns a short page
// with a Next. Two trips, a few more if records are skipped, or one if the first page still has the
// records this process last saw there.
func (b *Board[T, K, S]) Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	return pageOf(ctx, &b.part, cursor, n, keep)
}

// IDs is like Page, but does not check the ids: they may include leftovers of a running change or a
// crash. One trip.
func (b *Board[T, K, S]) IDs(ctx context.Context, cursor string, n int) (ids []K, next string, err error) {
	l, next, _, err := b.part.members(ctx, "IDs", cursor, n, keytree.Want{Unverified: true})
	if err != nil {
		return nil, "", err
	}
	for _, m := range l.Members {
		id, err := b.key.Parse(m.ID)
		if err != nil {
			return nil, "", b.part.failure(err)
		}
		ids = append(ids, id)
	}
	return ids, next, nil
}

// Table is a page of a board with its ranks and length.
type Table[T, S any] struct {
	Places     []Place[T, S]
	Len        int
	Next, Prev string
}

// Table is like Page, with the ranks of the records.
func (b *Board[T, K, S]) Table(ctx context.Context, cursor string, n int) (Table[T, S], error) {
	w := b.part.want(nil)
	w.Placed = true
	l, next, prev, err := b.part.members(ctx, "Table", cursor, n, w)
	return Table[T, S]{b.places(l.Part), l.Total, next, prev}, err
}

// Standing is the position of a record: "12th of 3,456, ahead of 99%".
type Standing[S any] struct {
	Rank, Len  int
	Percentile float64
	Score      S
}

// Standing returns the position of the record with id, or ErrNotFound. Two trips.
func (b *Board[T, K, S]) Standing(ctx context.Context, id K) (Standing[S], error) {
	st, err := b.part.standing(ctx, "Standing", b.key.Text(id))
	if err != nil {
		return Standing[S]{}, err
	}
	return Standing[S]{st.Rank, st.Total, percentile(st), b.score(st.Member)}, nil
}

func percentile(st keytree.Standing) float64 {
	return 100 * float64(max(0, st.Total-st.Before-1)) / float64(max(1, st.Total))
}

// Rank returns the rank of the record with id, from 1, or ErrNotFound. Two trips.
func (b *Board[T, K, S]) Rank(ctx context.Context, id K) (int, error) {
	st, err := b.part.standing(ctx, "Rank", b.key.Text(id))
	return st.Rank, err
}

// Percentile returns the percentage of the records ranked below the one with id, or ErrNotFound.
// Two trips.
func (b *Board[T, K, S]) Percentile(ctx context.Context, id K) (float64, error) {
	st, err := b.part.standing(ctx, "Percentile", b.key.Text(id))
	if err != nil {
		return 0, err
	}
	return percentile(st), nil
}

// At returns n records, 1 to 1000, starting at the given rank, from 1. It counts positions even if
// records share ranks: rank 3 means the third record. Two trips, one if it finds the records this
// process last saw there, or one per level in a part of the tree that the process has not read.
func (b *Board[T, K, S]) At(ctx context.Context, rank, n int) ([]Place[T, S], error) {
	found, err := b.part.from(ctx, rank, n)
	return b.places(found), err
}

// Numbered returns a page of n records by its number, from 1, and the total number of pages and
// records. It counts positions and takes trips like At.
func (b *Board[T, K, S]) Numbered(ctx context.Context, page, n int) (kvmodel.Numbered[T], error) {
	found, total, err := b.part.numbered(ctx, page, n)
	if err != nil {
		return kvmodel.Numbered[T]{}, err
	}
	return kvmodel.Numbered[T]{Items: itemsOf[T](found.Members), Page: page, Pages: plug.Pages(total, n), Total: total}, nil
}

// RankOf returns the rank that a record with this score has or would have: one more than the number
// of better records or, with Dense, of better scores. One trip.
func (b *Board[T, K, S]) RankOf(ctx context.Context, score S) (int, error) {
	at, err := b.of.to(score)
	if err != nil {
		return 0, b.part.failure(err)
	}
	return b.part.rankOf(ctx, at)
}

// Around returns the record with id and up to n on each side, n from 1 to 1000, or ErrNotFound.
// Three trips.
func (b *Board[T, K, S]) Around(ctx context.Context, id K, n int) ([]Place[T, S], error) {
	found, err := b.part.around(ctx, b.key.Text(id), n)
	return b.places(found), err
}

func (b *Board[T, K, S]) places(found keytree.Part) []Place[T, S] {
	places, ranks := make([]Place[T, S], len(found.Members)), found.Ranks(b.part.ranks)
	for i, m := range found.Members {
		places[i] = Place[T, S]{ranks[i], b.score(m), plug.As[T](m.Value)}
	}
	return places
}

// score takes texts from the record, since a tree holds only their words.
func (b *Board[T, K, S]) score(m keytree.Member) (score S) {
	if !b.of.isText() {
		return b.of.from(m.Score)
	}
	if m.Value != nil {
		score = b.text(m.Value.(*T))
	}
	return score
}

// Len returns the number of records on the board, as exactly as Rank. One trip.
func (b *Board[T, K, S]) Len(ctx context.Context) (int, error) {
	return b.part.count(ctx, "Len")
}

// Between returns the part of the board with low <= score < high. Texts are compared by their
// letters alone, ignoring case and accents; an empty high means no upper bound.
func (b *Board[T, K, S]) Between(low, high S) *Span[T] {
	span := &Span[T]{part: b.part}
	between, err := b.of.between(low, high)
	span.part.between, span.wrong = between, b.part.failure(err)
	return span
}

// Ascending returns the board, read from its lowest score.
func (b *Board[T, K, S]) Ascending() *Span[T] {
	return (&Span[T]{part: b.part}).Ascending()
}

// On returns the board of the period that contains t, empty if it was dropped or is in the future.
// A board without periods returns itself.
func (b *Board[T, K, S]) On(t time.Time) *Board[T, K, S] {
	on := *b
	on.part.at = t
	return &on
}

// Boards is one Board for each value of type V. A record with several values is on several boards.
type Boards[T any, K comparable, S, V any] struct {
	board *Board[T, K, S]
	by    kvmodel.KeyOf[V]
}

// NewBoards returns the boards described by spec, one for each value of by, and plugs them into
// records.
func NewBoards[T any, K comparable, S, V any](records *kvmodel.Records[T, K], spec Spec[T, S], by kvmodel.By[T, V]) *Boards[T, K, S, V] {
	c := newCore(spec, by.Texts)
	c.many = true
	c.tooMany = func(v plug.Record) error {
		if rec := v.(*T); spec.If == nil || spec.If(rec) {
			return by.Limit(rec)
		}
		return nil
	}
	plugIn(records, c, spec)
	return &Boards[T, K, S, V]{boardOf(records, c, spec), by.Key}
}

// Of returns the board of v.
func (b *Boards[T, K, S, V]) Of(v V) *Board[T, K, S] {
	of := *b.board
	of.part.by = b.by.Text(v)
	return &of
}

// On returns the boards of the period that contains t: see Board.On.
func (b *Boards[T, K, S, V]) On(t time.Time) *Boards[T, K, S, V] {
	return &Boards[T, K, S, V]{b.board.On(t), b.by}
}

// Span is a part of a board: the records between two scores, in one direction.
type Span[T any] struct {
	part  part
	wrong error // an invalid bound
}

// Page is like Board.Page. Two trips, and more if records are skipped or this process has not read
// that part of the board.
func (sp *Span[T]) Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	if sp.wrong != nil {
		return kvmodel.Listing[T]{}, sp.wrong
	}
	return pageOf(ctx, &sp.part, cursor, n, keep)
}

// Ascending returns the span, read from its lowest score.
func (sp *Span[T]) Ascending() *Span[T] {
	up := *sp
	up.part.up = true
	return &up
}

// Count returns the number of records in the span, as exactly as Rank. One trip.
func (sp *Span[T]) Count(ctx context.Context) (int, error) {
	if sp.wrong != nil {
		return 0, sp.wrong
	}
	return sp.part.count(ctx, "Count")
}
