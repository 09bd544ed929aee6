package ranking

import (
	"fmt"
	"math"
	"time"

	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Counter counts something for each record of a model.
type Counter = tally.Counter

// Spec describes a board. kvgen writes it from the tags.
type Spec[T, S any] struct {
	Name string // TopPrice: unique in the model, part of the board's stored keys
	Def  string // the definition; the board must be rebuilt when it changes

	Of    ScoreOf[S]
	Score func(*T) S    // of a record; nil for a board by Counter
	If    func(*T) bool // selects the records on the board; nil: all

	Low  bool // lowest score first
	Ties Ties
	Made func(*T) time.Time // the creation time, for Newest and Oldest; it never changes

	// Counter, if not nil, is the source of scores. If Score is set as well, it gives the scores,
	// and the board calls it whenever the counter changes.
	Counter Counter
	Also    []Counter // with Score: other counters to watch
	Batch   Batch
	Per     Period // with a Counter: one board for each period, with its counts
	Keep    int    // number of kept periods; 0 means 2
}

// Ties is the order and the ranks of records with equal scores.
type Ties int

// With NoTies, Shared and Dense, records with equal scores are in an arbitrary fixed order.
const (
	NoTies Ties = iota // different ranks: 1, 2, 3, 4
	Shared             // a gap after a shared rank: 1, 2, 2, 4
	Dense              // without a gap: 1, 2, 2, 3
	Newest             // newest first, ranked as with NoTies
	Oldest             // oldest first, ranked as with NoTies
)

func (t Ties) ranks() keytree.Ranks {
	switch t {
	case Shared:
		return keytree.Shared
	case Dense:
		return keytree.Dense
	}
	return keytree.Single
}

func (t Ties) byTime() bool { return t == Newest || t == Oldest }

// newerAbove: a board with the lowest score first reads the tree from below.
func (t Ties) newerAbove(low bool) bool { return (t == Newest) != low }

func (t Ties) tie(made time.Time, low bool) uint64 {
	tie := keytree.TieAt(made)
	if !t.newerAbove(low) {
		tie = keytree.MaxTie - tie
	}
	return tie
}

func (t Ties) form(low bool) string {
	switch {
	case t == Dense:
		return ".dense"
	case t.byTime() && t.newerAbove(low):
		return ".newer"
	case t.byTime():
		return ".older"
	}
	return ""
}

// Period is a calendar period, in UTC.
type Period int

// A week begins on Monday.
const (
	Forever Period = iota
	Hour
	Day
	Week
	Month
)

const keptByDefault = 2

func (p Period) begin(t time.Time) time.Time {
	t = t.UTC()
	switch p {
	case Hour:
		return t.Truncate(time.Hour)
	case Day:
		return t.Truncate(24 * time.Hour)
	case Week:
		day := t.Truncate(24 * time.Hour)
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case Month:
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Time{}
}

func (p Period) add(t time.Time, n int) time.Time {
	switch begin := p.begin(t); p {
	case Hour:
		return begin.Add(time.Duration(n) * time.Hour)
	case Day:
		return begin.AddDate(0, 0, n)
	case Week:
		return begin.AddDate(0, 0, 7*n)
	case Month:
		return begin.AddDate(0, n, 0)
	default:
		return begin
	}
}

func (p Period) name(t time.Time) string {
	begin := p.begin(t)
	switch p {
	case Hour:
		return begin.Format("2006-01-02T15")
	case Day:
		return begin.Format("2006-01-02")
	case Week:
		year, week := begin.ISOWeek()
		return fmt.Sprintf("%d-W%02d", year, week)
	case Month:
		return begin.Format("2006-01")
	}
	return ""
}

// ScoreOf converts scores of type S to the scores of a tree, and back.
type ScoreOf[S any] struct {
	code keytree.Code
	to   func(S) (keytree.Score, error)
	from func(keytree.Score) S

	// A record with a score that is none is not on the board, like the zero time.
	none func(S) bool

	// For texts alone, which cannot be restored from a score:
	order  string                  // of the collation
	prefix func(S) keytree.Between // texts that begin with these letters
}

func (of ScoreOf[S]) isText() bool { return of.prefix != nil }

func (of ScoreOf[S]) between(low, high S) (keytree.Between, error) {
	if of.isText() {
		b := keytree.Between{Low: of.prefix(low).Low}
		if !of.none(high) {
			b.High = of.prefix(high).Low
		}
		return b, nil
	}
	from, err := of.to(low)
	if err != nil {
		return keytree.Between{}, err
	}
	to, err := of.to(high)
	return keytree.Between{Low: &from, High: &to}, err
}

// Int is the ScoreOf of signed integers, and of unsigned ones of up to 32 bits.
func Int[S ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32]() ScoreOf[S] {
	return ScoreOf[S]{
		code: keytree.Signed,
		to:   func(s S) (keytree.Score, error) { return keytree.FromInt(int64(s)), nil },
		from: func(s keytree.Score) S { return S(s.Int()) },
	}
}

// Uint is the ScoreOf of unsigned integers.
func Uint[S ~uint | ~uint64]() ScoreOf[S] {
	return ScoreOf[S]{
		code: keytree.Unsigned,
		to:   func(s S) (keytree.Score, error) { return keytree.FromUint(uint64(s)), nil },
		from: func(s keytree.Score) S { return S(s.Uint()) },
	}
}

// Float is the ScoreOf of floating-point numbers. It accepts infinities and rejects NaN. With a
// fixed number of decimals, such as prices, Decimal makes a smaller tree.
func Float[S ~float32 | ~float64]() ScoreOf[S] {
	return ScoreOf[S]{
		code: keytree.Float,
		to: func(s S) (keytree.Score, error) {
			score, ok := keytree.FromFloat(float64(s))
			if !ok {
				return score, fmt.Errorf("%w: NaN cannot be ranked", kvmodel.ErrInvalid)
			}
			return score, nil
		},
		from: func(s keytree.Score) S { return S(s.Float()) },
	}
}

// Decimal is the ScoreOf of floating-point numbers rounded to places decimals, 0 to 18. It rejects
// NaN, infinities and values beyond 64 bits.
func Decimal[S ~float32 | ~float64](places int) ScoreOf[S] {
	factor := math.Pow10(places)
	return ScoreOf[S]{
		code: keytree.Signed,
		to: func(s S) (keytree.Score, error) {
			scaled := math.Round(float64(s) * factor)
			// False for NaN too.
			if !(scaled >= math.MinInt64 && scaled < math.MaxInt64) {
				return keytree.Score{}, fmt.Errorf("%w: %v with %d decimals cannot be ranked", kvmodel.ErrInvalid, s, places)
			}
			return keytree.FromInt(int64(scaled)), nil
		},
		from: func(s keytree.Score) S { return S(float64(s.Int()) / factor) },
	}
}

// Time is the ScoreOf of times, in milliseconds. The zero time is no score.
func Time() ScoreOf[time.Time] {
	return ScoreOf[time.Time]{
		code: keytree.Signed,
		to:   func(t time.Time) (keytree.Score, error) { return keytree.FromInt(t.UnixMilli()), nil },
		from: func(s keytree.Score) time.Time { return time.UnixMilli(s.Int()).UTC() },
		none: time.Time.IsZero,
	}
}

// Collation is the order of texts in a language. Package collation has the Unicode collations.
type Collation interface {
	// Name is part of a board's definition: if it changes, the board must be rebuilt.
	Name() string

	// Word returns 1 to 64 bytes that sort like text. No word is a prefix of another, except of an
	// equal one.
	Word(text string) string

	// Prefix returns the range low <= word < high of all texts that begin with the letters of text.
	// An empty high means no upper bound.
	Prefix(text string) (low, high string)
}

// Text is the ScoreOf of texts in the order of a collation. The empty text is no score.
func Text[S ~string](in Collation) ScoreOf[S] {
	return ScoreOf[S]{
		code:  keytree.Words,
		to:    func(s S) (keytree.Score, error) { return keytree.FromWord(in.Word(string(s))), nil },
		none:  func(s S) bool { return s == "" },
		order: in.Name(),
		prefix: func(s S) (b keytree.Between) {
			low, high := in.Prefix(string(s))
			from, to := keytree.FromWord(low), keytree.FromWord(high)
			if b.Low = &from; high != "" {
				b.High = &to
			}
			return b
		},
	}
}

// Prefix returns the texts that begin with the letters of text, ignoring case and accents; the
// empty text selects all. On a board of other scores, reading the span returns ErrInvalid.
func (b *Board[T, K, S]) Prefix(text S) *Span[T] {
	span := &Span[T]{part: b.part}
	if !b.of.isText() {
		span.wrong = b.part.failure(fmt.Errorf("%w: only texts have a prefix", kvmodel.ErrInvalid))
		return span
	}
	span.part.between = b.of.prefix(text)
	return span
}
