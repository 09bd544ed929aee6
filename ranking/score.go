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
