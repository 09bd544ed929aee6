package keytree

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scoresOf are ways to choose scores, each hard on a tree in its own way.
var scoresOf = map[string]func(*rand.Rand, int) int64{
	"few":       func(r *rand.Rand, _ int) int64 { return r.Int64N(3) },
	"equal":     func(*rand.Rand, int) int64 { return 7 },
	"ascending": func(_ *rand.Rand, i int) int64 { return int64(i) },
	"wide":      func(r *rand.Rand, _ int) int64 { return r.Int64N(1 << 40) },
	"negative":  func(r *rand.Rand, _ int) int64 { return -r.Int64N(1000) },
	"both":      func(r *rand.Rand, _ int) int64 { return r.Int64N(200) - 100 },
	"zipf":      func(r *rand.Rand, _ int) int64 { return int64(rand.NewZipf(r, 1.2, 1, 1<<20).Uint64()) },
}

func TestTree_AnswersAsASortedSliceDoes(t *testing.T) {
	for name, score := range scoresOf {
		t.Run(name, func(t *testing.T) {
			rng := seeded(t)
			r := open(newMem())
			m := &model{scores: map[string]int64{}}
			for i := range 600 {
				id := idOf(rng.IntN(150))
				if rng.IntN(5) == 0 {
					delete(m.scores, id)
					r.remove(t, id)
				} else {
					m.scores[id] = score(rng, i)
					r.set(t, id, m.scores[id])
				}
				m.order = r.orderOf(t)
				if i%100 == 99 {
					r.checkInvariants(t, slices.Sorted(maps.Keys(m.scores))...)
					r.checkCounts(t)
					checkQueries(t, r, m, rng)
				}
			}
		})
	}
}

// checkQueries asserts that every kind of question gets the model's answer.
func checkQueries(t *testing.T, r *ranking, m *model, rng *rand.Rand) {
	t.Helper()
	want := m.members()
	for _, down := range []bool{true, false} {
		checkPages(t, r, want, down, 1+rng.IntN(10))
		for range 5 {
			if len(want) > 0 {
				checkMember(t, r, want, rng.IntN(len(want)), down)
			}
		}
		slices.Reverse(want)
	}
	low := FromInt(m.scores[want[rng.IntN(len(want))]])
	high := low + Score(rng.IntN(100))
	count := 0
	for _, score := range m.scores {
		if s := FromInt(score); s >= low && s < high {
			count++
		}
	}
	got, err := r.Count(ctx, r.s, Between{&low, &high})
	if err != nil || got != count {
		t.Errorf("count between %d and %d: %d, %v; want %d", low.Int(), high.Int(), got, err, count)
	}
}

func checkPages(t *testing.T, r *ranking, want []string, down bool, n int) {
	t.Helper()
	var got, back []string
	var at, last []byte
	for first := true; first || at != nil; first = false {
		l, err := r.Page(ctx, r.s, Between{}, down, at, n, Want{})
		if err != nil {
			t.Fatal("page:", err)
		}
		got = append(got, names(l.Members)...)
		at, last = l.Next, l.Prev
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages of %d, down %v: mismatch (-want +got):\n%s", n, down, diff)
	}
	// From the last page back to the first.
	for at = last; at != nil; {
		l, err := r.Page(ctx, r.s, Between{}, down, at, n, Want{})
		if err != nil {
			t.Fatal("page back:", err)
		}
		back = append(names(l.Members), back...)
		at = l.Prev
	}
	if len(back) > 0 {
		if diff := cmp.Diff(want[:len(back)], back); diff != "" || len(want)-len(back) > n {
			t.Errorf("pages back of %d, down %v: mismatch (-want +got):\n%s", n, down, diff)
		}
	}
}

func checkMember(t *testing.T, r *ranking, want []string, at int, down bool) {
	t.Helper()
	st, err := r.Standing(ctx, r.s, want[at], down, false)
	if err != nil || st.Before != at || st.Total != len(want) {
		t.Errorf("standing of %s: %d of %d, %v; want %d of %d", want[at], st.Before, st.Total, err, at, len(want))
	}
	part, err := r.At(ctx, r.s, at, 3, down, false, Want{})
	if diff := cmp.Diff(want[at:min(at+3, len(want))], names(part.Members)); diff != "" || err != nil {
		t.Errorf("at %d: %v, mismatch (-want +got):\n%s", at, err, diff)
	}
	part, err = r.Around(ctx, r.s, want[at], 3, down, false, Want{})
	if diff := cmp.Diff(want[max(0, at-3):min(at+4, len(want))], names(part.Members)); diff != "" || err != nil {
		t.Errorf("around %d: %v, mismatch (-want +got):\n%s", at, err, diff)
	}
	if place := slices.Index(names(part.Members), want[at]); part.Before+place != at {
		t.Errorf("around %d: the first is at %d, the member %d behind it", at, part.Before, place)
	}
}
