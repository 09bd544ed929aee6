package keytree

import (
	"cmp"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
)

func edges() []uint64 {
	all := []uint64{0, math.MaxUint64}
	for e := range 64 {
		p := uint64(1) << e
		all = append(all, p-1, p, p+1, -p, -p-1, -p+1)
	}
	return all
}

func pairs(rng *rand.Rand, check func(a, b uint64)) {
	all := edges()
	for i, a := range all {
		for _, b := range all[i:] {
			check(a, b)
		}
	}
	for range proof.Size(20_000, 200_000) {
		check(rng.Uint64()>>rng.IntN(64), rng.Uint64()>>rng.IntN(64))
	}
}

// checkCode asserts that the codes of a and b compare as want says, and that neither begins with
// the other.
func checkCode(t *testing.T, c Code, a, b Score, want int) {
	t.Helper()
	x, y := string(c.append(nil, a)), string(c.append(nil, b))
	proof.Equal(t, cmp.Compare(x, y), want, "%c: code %s of %+v, %s of %+v: order", c, x, a, y, b)
	if x != y && (strings.HasPrefix(x, y) || strings.HasPrefix(y, x)) {
		t.Errorf("%c: of the codes %s and %s one begins with the other", c, x, y)
	}
}

func TestCode_GoesByTheScoreAndThenByTheTie(t *testing.T) {
	ties := []uint64{0, 1, 2, 1 << 60, MaxTie - 1, MaxTie}
	pairs(seeded(t), func(a, b uint64) {
		x, y := ties[a%6], ties[b%6]
		check := func(c Code, s, u Score, want int) {
			t.Helper()
			checkCode(t, c, s, u, want)
			checkCode(t, c.WithTies(), s.WithTie(x), u.WithTie(y), cmp.Or(want, cmp.Compare(x, y)))
		}
		check(Signed, FromInt(int64(a)), FromInt(int64(b)), cmp.Compare(int64(a), int64(b)))
		check(Unsigned, FromUint(a), FromUint(b), cmp.Compare(a, b))
		if got := FromInt(int64(a)).Int(); got != int64(a) {
			t.Errorf("%d became %d", int64(a), got)
		}
		f, g := math.Float64frombits(a), math.Float64frombits(b)
		s, okF := FromFloat(f)
		u, okG := FromFloat(g)
		if okF == math.IsNaN(f) || okG == math.IsNaN(g) {
			t.Errorf("%v and %v can be ordered: %v and %v", f, g, okF, okG)
		}
		if okF && okG {
			check(Float, s, u, cmp.Compare(f, g))
		}
		if okF && s.Float() != f {
			t.Errorf("%v became %v", f, s.Float())
		}
	})
}

func TestCode_OfSmallNumbersIsShort(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 1000, -1000} {
		if got := len(Signed.append(nil, FromInt(n))); got > 7+10 {
			t.Errorf("the code of %d has %d bits", n, got)
		}
	}
	for _, n := range []int64{math.MaxInt64, math.MinInt64} {
		if got := len(Signed.append(nil, FromInt(n))); got > 70 {
			t.Errorf("the code of %d has %d bits", n, got)
		}
	}
}

func TestTieAt_FollowsTheTimeWithinItsLimits(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, times := range [][2]time.Time{
		{{}, time.Unix(0, 0)}, {time.Unix(0, 0).AddDate(-200, 0, 0), time.Unix(0, 0)},
		{time.Unix(0, MaxTie), at.AddDate(90, 0, 0)}, {at.AddDate(90, 0, 0), at.AddDate(5000, 0, 0)},
	} {
		if a, b := TieAt(times[0]), TieAt(times[1]); a != b {
			t.Errorf("the tie of %v is %d, that of %v is %d; want the same", times[0], a, times[1], b)
		}
	}
	last := TieAt(time.Time{})
	for _, next := range []time.Time{time.Unix(0, 1), at.AddDate(-20, 0, 0), at, at.Add(1), at.Add(time.Microsecond), at.AddDate(89, 0, 0), at.AddDate(100, 0, 0)} {
		if tie := TieAt(next); tie <= last || tie > MaxTie {
			t.Errorf("the tie of %v is %d, after one of %d", next, tie, last)
		} else {
			last = tie
		}
	}
}

func TestCode_WithTiesLeavesRoomForTheHash(t *testing.T) {
	for _, c := range []Code{Signed, Unsigned, Float} {
		for _, n := range edges() {
			if got := len(c.WithTies().append(nil, FromUint(n).WithTie(MaxTie))); got > maxBits-16 {
				t.Errorf("%c: the code of %d has %d of %d bits", c.WithTies(), n, got, maxBits)
			}
		}
	}
}

func TestCode_KnowsWhereAScoreEnds(t *testing.T) {
	for _, c := range []Code{Signed, Unsigned, Float} {
		for _, n := range edges() {
			s := FromUint(n).WithTie(5)
			end := len(c.append(nil, s))
			bits := appendBits(c.WithTies().append(nil, s), 9, 20)
			for n := range bits {
				if got := c.hasWhole(bits[:n]); got != (n >= end) || got != c.WithTies().hasWhole(bits[:n]) {
					t.Fatalf("%c: %v of the bits %s, %d of which are the score, are whole", c, got, bits[:n], end)
				}
			}
		}
	}
}

func TestPosition_IsWhereItWas(t *testing.T) {
	o, words := &order{code: Signed.WithTies()}, &order{code: Words}
	s, sea := FromInt(5), FromWord("sea\x00")
	for _, want := range []point{
		lowest, highest, before(s), after(s), before(s.WithTie(7)), after(s.WithTie(7)),
		o.point(s, "a").beside(true), o.point(s.WithTie(7), "a").beside(false), o.point(s.WithTie(MaxTie), "a").beside(true),
		before(sea), after(sea), words.point(sea, "a").beside(true), words.point(FromWord(strings.Repeat("\x00", MaxWord)), "a").beside(false),
	} {
		for _, back := range []bool{true, false} {
			got, turned, err := decodePosition(encodePosition(want, back))
			if got != want || turned != back || err != nil {
				t.Errorf("%+v, back %v, is stored as %+v, %v, %v", want, back, got, turned, err)
			}
		}
	}
	proof.Equal(t, len(encodePosition(o.point(s, "a").beside(true), false)), 26, "a position without a tie")
}
