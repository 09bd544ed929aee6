package keytree

import (
	"cmp"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

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
	if got := cmp.Compare(x, y); got != want {
		t.Errorf("%c: code %s of %+v, %s of %+v: order %d, want %d", c, x, a, y, b, got, want)
	}
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
