package keytree

import (
	"strings"
	"testing"
	"time"
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
	if n := len(encodePosition(o.point(s, "a").beside(true), false)); n != 26 {
		t.Errorf("a position without a tie has %d bytes, want 26", n)
	}
}
