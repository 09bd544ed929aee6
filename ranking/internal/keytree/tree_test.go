package keytree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/kv"
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

// beaten is a store in which someone else is faster with each node, four times.
type beaten struct {
	kv.Store
	times map[string]int
}

func (*beaten) Powers() kv.Powers { return kv.Powers{} }

func (b *beaten) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		op := &ops[i]
		if op.Kind != kv.CompareAndSwap || !strings.Contains(op.Key, ":key0") || b.times[op.Key] == 4 {
			_ = b.Store.Do(ctx, ops[i:i+1])
			continue
		}
		b.times[op.Key]++
		op.Result.Err = kv.ErrConflict
	}
	return kv.Unanswered(ops)
}

func TestTree_EditsThatLoseRacesPauseTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMem()
		var trees []*ranking
		for i := range 100 {
			r := open(store, func(c *Config) { c.Name = fmt.Sprint("t", i) })
			r.set(t, "first", 1)
			trees = append(trees, r)
		}
		s := &beaten{store, make(map[string]int)}
		began := time.Now()
		errs := kv.Each(ctx, s, trees, func(s kv.Store, _ int, r *ranking) error {
			_, err := r.Insert(ctx, s, "second", State{In: true, Score: FromInt(2), Ver: 2})
			return err
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); len(s.times) != len(trees) || took > 100*time.Millisecond {
			t.Errorf("%d edits that each lost four races took %v, longer than the longest pauses", len(s.times), took)
		}
	})
}
