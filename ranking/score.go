package ranking

import (
	"fmt"
	"math"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// ScoreOf turns scores of type S into what a tree orders and back.
type ScoreOf[S any] struct {
	code keytree.Code
	to   func(S) (keytree.Score, error)
	from func(keytree.Score) S

	// none tells whether a score counts as none, so that the record has no
	// place: the zero time. Numbers always count.
	none func(S) bool
}

func always[S any](S) bool { return false }

// Int is the ScoreOf of signed integers, and of unsigned ones of up to 32 bits.
func Int[S ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32]() ScoreOf[S] {
	return ScoreOf[S]{
		code: keytree.Signed,
		to:   func(s S) (keytree.Score, error) { return keytree.FromInt(int64(s)), nil },
		from: func(s keytree.Score) S { return S(s.Int()) },
		none: always[S],
	}
}

// Uint is the ScoreOf of unsigned integers.
func Uint[S ~uint | ~uint64]() ScoreOf[S] {
	return ScoreOf[S]{
		code: keytree.Unsigned,
		to:   func(s S) (keytree.Score, error) { return keytree.Score(s), nil },
		from: func(s keytree.Score) S { return S(s) },
		none: always[S],
	}
}

// Float is the ScoreOf of floating point numbers as they are. Infinite ones
// count; NaN is refused. Where scores have a fixed number of decimals, as prices
// have, Decimal makes the smaller tree.
func Float[S ~float32 | ~float64]() ScoreOf[S] {
	return ScoreOf[S]{
		code: keytree.Float,
		to: func(s S) (keytree.Score, error) {
			score, ok := keytree.FromFloat(float64(s))
			if !ok {
				return 0, fmt.Errorf("%w: NaN has no place in a ranking", kvmodel.ErrInvalid)
			}
			return score, nil
		},
		from: func(s keytree.Score) S { return S(s.Float()) },
		none: always[S],
	}
}

// Decimal is the ScoreOf of floating point numbers of which places decimals
// count, 0 to 18; further ones are rounded. What does not fit into 64 bits then
// is refused, and so are NaN and infinite ones.
func Decimal[S ~float32 | ~float64](places int) ScoreOf[S] {
	factor := math.Pow10(places)
	return ScoreOf[S]{
		code: keytree.Signed,
		to: func(s S) (keytree.Score, error) {
			scaled := math.Round(float64(s) * factor)
			// The comparison is false for NaN too.
			if !(scaled >= math.MinInt64 && scaled < math.MaxInt64) {
				return 0, fmt.Errorf("%w: %v with %d decimals has no place in a ranking", kvmodel.ErrInvalid, s, places)
			}
			return keytree.FromInt(int64(scaled)), nil
		},
		from: func(s keytree.Score) S { return S(float64(s.Int()) / factor) },
		none: always[S],
	}
}

// Time is the ScoreOf of times, by the millisecond. The zero time is none.
func Time() ScoreOf[time.Time] {
	return ScoreOf[time.Time]{
		code: keytree.Signed,
		to:   func(t time.Time) (keytree.Score, error) { return keytree.FromInt(t.UnixMilli()), nil },
		from: func(s keytree.Score) time.Time { return time.UnixMilli(s.Int()).UTC() },
		none: time.Time.IsZero,
	}
}
