package keytree

import (
	"cmp"
	"math"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

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

func TestCode_WithTiesGoesByTheScoreAndThenByTheTie(t *testing.T) {
	ties := []uint64{0, 1, 2, 1 << 60, MaxTie - 1, MaxTie}
	pairs(seeded(t), func(a, b uint64) {
		x, y := ties[a%6], ties[b%6]
		order := func(scores int) int { return cmp.Or(scores, cmp.Compare(x, y)) }
		checkCode(t, Signed.WithTies(), FromInt(int64(a)).WithTie(x), FromInt(int64(b)).WithTie(y), order(cmp.Compare(int64(a), int64(b))))
		checkCode(t, Unsigned.WithTies(), FromUint(a).WithTie(x), FromUint(b).WithTie(y), order(cmp.Compare(a, b)))
		s, okX := FromFloat(math.Float64frombits(a))
		u, okY := FromFloat(math.Float64frombits(b))
		if okX && okY {
			checkCode(t, Float.WithTies(), s.WithTie(x), u.WithTie(y), order(cmp.Compare(s.Float(), u.Float())))
		}
	})
}

// Below a leaf with the longest name nothing is divided, so a position must have bits of
// the hash left there.
func TestCode_WithTiesLeavesRoomForTheHash(t *testing.T) {
	for _, c := range []Code{Signed, Unsigned, Float} {
		for _, n := range edges() {
			if got := len(c.WithTies().append(nil, FromUint(n).WithTie(MaxTie))); got > maxBits-16 {
				t.Errorf("%c: the code of %d has %d of %d bits", c.WithTies(), n, got, maxBits)
			}
		}
	}
}

// A whole score is recognized from its last bit on, and not before.
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

func TestLeaf_TiesAreStoredWhereThereAreAny(t *testing.T) {
	ties, none := []entry{
		{FromInt(-3).WithTie(MaxTie), 1, "a", true}, {FromInt(5).WithTie(0), 2, "b", false}, {FromInt(5).WithTie(9), 3, "c", false},
	}, []entry{{FromInt(-3), 1, "a", true}, {FromInt(5), 2, "b", false}, {FromInt(5), 3, "c", false}}
	size := map[bool]int{}
	for tied, want := range map[bool][]entry{true: ties, false: none} {
		l := &leaf{seq: 3, entries: want}
		value := l.encode()
		size[tied] = len(value)
		got, err := decodeNode(kv.Result{Value: value, Version: 1})
		if err != nil || got.leaf == nil {
			t.Fatal(got, err)
		}
		if diff := gocmp.Diff(want, got.leaf.entries, entries); diff != "" {
			t.Errorf("mismatch (-want +got):\n%s", diff)
		}
		if n := l.bytes(); n < len(value) {
			t.Errorf("a leaf of %d bytes is taken for one of %d", len(value), n)
		}
	}
	if more := size[true] - size[false]; more != 3*8 {
		t.Errorf("ties take %d bytes in a leaf with three entries", more)
	}
}

func TestRecord_HasItsTie(t *testing.T) {
	for _, st := range []State{
		{In: true, Score: FromInt(5), Ver: 7}, {In: true, Score: FromInt(5).WithTie(MaxTie), Ver: 7}, {Ver: 7},
	} {
		if got, err := decodeState(kv.Result{Value: encodeState(st), Version: 1}); got != st || err != nil {
			t.Errorf("%+v is stored as %+v, %v", st, got, err)
		}
	}
}

func TestPosition_IsWhereItWas(t *testing.T) {
	o := &order{code: Signed.WithTies()}
	s := FromInt(5)
	for _, want := range []point{
		lowest, highest, before(s), after(s), before(s.WithTie(7)), after(s.WithTie(7)),
		o.point(s, "a").beside(true), o.point(s.WithTie(7), "a").beside(false), o.point(s.WithTie(MaxTie), "a").beside(true),
	} {
		for _, back := range []bool{true, false} {
			got, turned, err := decodePosition(encodePosition(want, back))
			if got != want || turned != back || err != nil {
				t.Errorf("%+v, back %v, is stored as %+v, %v, %v", want, back, got, turned, err)
			}
		}
	}
	if n := len(encodePosition(o.point(s, "a").beside(true), false)); n != 26 {
		t.Errorf("a position without a tie has %d bytes, want 26", n)
	}
}
