package ranking

import (
	"fmt"
	"math"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

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

// Float is the ScoreOf of floating-point numbers. It accepts infinities and rejects NaN. For scores
// with a fixed number of decimals, such as prices, Decimal makes a smaller tree.
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
	// Name identifies the order. It is part of a board's definition: if it changes, the board must
	// be rebuilt.
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

// Prefix returns the texts on the board that begin with the letters of text, ignoring case and
// accents. The empty text selects all. On a board of other scores, reading the span returns
// ErrInvalid.
func (b *Board[T, K, S]) Prefix(text S) *Span[T] {
	span := &Span[T]{part: b.part}
	if !b.of.isText() {
		span.wrong = b.part.failure(fmt.Errorf("%w: only texts have a prefix", kvmodel.ErrInvalid))
		return span
	}
	span.part.between = b.of.prefix(text)
	return span
}
