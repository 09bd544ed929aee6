package numbering_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/numbering"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func newRow() *numbering.Row {
	return &numbering.Row{Key: func(n int64) string { return "n:" + strconv.FormatInt(n, 10) }}
}

// fill puts items under 1 to n.
func fill(t *testing.T, s kv.Store, n int) {
	t.Helper()
	var ops []kv.Op
	for i := 1; i <= n; i++ {
		ops = append(ops, kv.OpSet(newRow().Key(int64(i)), []byte("old")))
	}
	must(t, s.Do(context.Background(), ops))
}

func TestRow_Last_IsFoundFromAnyHint(t *testing.T) {
	ctx := t.Context()
	for _, n := range []int{0, 1, 2, 3, 8, 9, 100, 5000, 70_000} {
		s := memkv.New(memkv.Options{})
		fill(t, s, n)
		counted := kv.Count(s)
		for _, hint := range []int{0, 1, n / 2, n - 1, n} {
			if hint < 0 || hint > n {
				continue
			}
			q := newRow()
			q.Known(int64(hint))
			c := cost(t, ctx, func(ctx context.Context) error {
				got, err := q.Last(ctx, counted)
				if got != int64(n) {
					t.Errorf("the last of %d from hint %d is %d", n, hint, got)
				}
				return err
			})
			t.Logf("last of %d from %d: %d trips, %d gets", n, hint, c.Trips, c.Ops)
			if n-hint < 2 && c.Trips > 1 {
				t.Errorf("the last of %d from a fresh hint %d took %d trips, want 1", n, hint, c.Trips)
			}
			if c.Trips > 12 || c.Ops > 100 {
				t.Errorf("the last of %d from hint %d took %v", n, hint, c)
			}
		}
	}
}

// row is a store in which the numbers up to last exist, and nothing else.
type row struct{ last int64 }

func (r row) Do(_ context.Context, ops []kv.Op) error {
	for i := range ops {
		n, err := strconv.ParseInt(ops[i].Key[len("n:"):], 10, 64)
		ops[i].Result = kv.Result{Value: []byte("old")}
		if err != nil || n < 1 || n > r.last {
			ops[i].Result = kv.Result{Err: kv.ErrNotFound}
		}
	}
	return nil
}

func (row) Close() error { return nil }

func TestRow_Last_WithAHintsKeyTakesFewGets(t *testing.T) {
	for _, c := range []struct{ last, hint, most int64 }{
		{1_000_000, 0, 25}, {1_000_000, 1, 25}, {1_000_000, 500_000, 25},
		{1_000_000, 999_000, 20}, {1_000_000, 999_980, 14},
		{1_000_000, 1_000_000, 3}, {0, 0, 2}, {1, 0, 15}, {1, 1, 3},
		{1 << 40, 0, 60},
	} {
		q := newRow()
		q.Hint = "n:hint"
		q.Known(c.hint)
		got := cost(t, t.Context(), func(ctx context.Context) error {
			n, err := q.Last(ctx, kv.Count(row{c.last}))
			if n != c.last {
				t.Errorf("the last of %d from hint %d is %d", c.last, c.hint, n)
			}
			return err
		})
		t.Logf("last of %d from %d: %d trips, %d gets", c.last, c.hint, got.Trips, got.Ops)
		if int64(got.Ops) > c.most {
			t.Errorf("the last of %d from hint %d took %v, want at most %d gets", c.last, c.hint, got, c.most)
		}
	}
}

func TestRow_Last_ANumberThatTheHintsKeyNamesAndIsGoneIsLost(t *testing.T) {
	ctx := t.Context()
	s := memkv.New(memkv.Options{})
	named := func() *numbering.Row {
		q := newRow()
		q.Hint = "n:hint"
		return q
	}
	q := named()
	for want := int64(1); want <= 40; want++ {
		if n, err := q.Add(ctx, s, []byte("v")); err != nil || n != want {
			t.Fatal(n, err)
		}
	}
	if n, err := named().Last(ctx, s); err != nil || n != 40 {
		t.Errorf("the last is %d, %v; want 40", n, err)
	}
	for n := int64(25); n <= 40; n++ {
		s.Evict(q.Key(n))
	}
	_, err := named().Last(ctx, s)
	wantErr(t, err, kv.ErrLost)
	_, err = named().Add(ctx, s, []byte("v"))
	wantErr(t, err, kv.ErrLost)
	s.Evict("n:hint")
	if n, err := named().Last(ctx, s); err != nil || n != 24 {
		t.Errorf("once the loss is accepted the last is %d, %v; want 24", n, err)
	}
}

func TestRow_Last_AHintThatIsGoneIsForgotten(t *testing.T) {
	ctx := t.Context()
	s := memkv.New(memkv.Options{})
	fill(t, s, 3)
	q := newRow()
	q.Known(40)
	if got, err := q.Last(ctx, s); err != nil || got != 3 {
		t.Errorf("the last is %d, %v; want 3", got, err)
	}
	n, err := q.Add(ctx, s, []byte("new"))
	if err != nil || n != 4 {
		t.Errorf("added as %d, %v; want 4", n, err)
	}
}

func TestRow_Add_64AtOnceLeaveNoGapAndLoseNone(t *testing.T) {
	ctx := t.Context()
	s := memkv.New(memkv.Options{})
	const adders, each = 64, 20
	one := newRow()
	var mu sync.Mutex
	got := map[int64]string{}
	var wait sync.WaitGroup
	for a := range adders {
		q := one
		if a%2 == 0 {
			q = newRow() // another process
		}
		wait.Go(func() {
			for i := range each {
				value := fmt.Sprintf("%d-%d.", a, i)
				n, err := q.Add(ctx, s, []byte(value))
				mu.Lock()
				if old, ok := got[n]; ok || err != nil {
					t.Errorf("%s got number %d like %q, %v", value, n, old, err)
				}
				got[n] = value
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	for n := int64(1); n <= adders*each; n++ {
		r, err := kv.One(ctx, s, kv.OpGet(one.Key(n)))
		if err != nil || string(r.Value) != got[n] {
			t.Errorf("number %d holds %q, %v; want %q", n, r.Value, err, got[n])
		}
	}
	if s.Len() != adders*each {
		t.Errorf("%d items, want %d", s.Len(), adders*each)
	}
}

// unclearAdds lets the first times adds of each key be unclear: carried out if
// done says so.
func unclearAdds(s kv.Store, times int, done func(key string) bool) kv.Store {
	seen := map[string]int{}
	return tamper(s, func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
		if ops[0].Kind != kv.Add || seen[ops[0].Key] >= times {
			return next(ops)
		}
		seen[ops[0].Key]++
		if done(ops[0].Key) {
			_ = next(slices.Clone(ops))
		}
		return kv.Fail(ops, kv.ErrUnclear)
	})
}

func TestRow_Add_AnUnclearAddIsDoneOnce(t *testing.T) {
	for name, done := range map[string]bool{"carried out": true, "not carried out": false} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			mem := memkv.New(memkv.Options{})
			s := unclearAdds(mem, 1, func(string) bool { return done })
			q := newRow()
			for want := int64(1); want <= 3; want++ {
				got, err := q.Add(ctx, s, fmt.Appendf(nil, "v%d", want))
				if err != nil || got != want {
					t.Errorf("added as %d, %v; want %d", got, err, want)
				}
			}
			if diff := cmp.Diff(3, mem.Len()); diff != "" {
				t.Errorf("items (-want +got)\n%s", diff)
			}
		})
	}
}

func TestRow_Add_AnUnclearAddThatARivalBeatGoesOneFurther(t *testing.T) {
	ctx := t.Context()
	mem := memkv.New(memkv.Options{})
	s := unclearAdds(mem, 1, func(key string) bool {
		if key == "n:1" {
			_, err := kv.One(ctx, mem, kv.OpAdd(key, []byte("rival")))
			must(t, err)
		}
		return key != "n:1"
	})
	got, err := newRow().Add(ctx, s, []byte("mine"))
	if err != nil || got != 2 {
		t.Errorf("added as %d, %v; want 2", got, err)
	}
}

// The first try arrives after it was looked for, and before the second one.
func TestRow_Add_AnUnclearAddThatComesLateIsDoneOnce(t *testing.T) {
	ctx := t.Context()
	mem := memkv.New(memkv.Options{})
	var late []kv.Op
	s := tamper(mem, func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
		switch {
		case ops[0].Kind == kv.Add && late == nil:
			late = slices.Clone(ops)
			return kv.Fail(ops, kv.ErrUnclear)
		case ops[0].Kind == kv.Add:
			_ = next(late)
		}
		return next(ops)
	})
	if got, err := newRow().Add(ctx, s, []byte("mine")); err != nil || got != 1 || mem.Len() != 1 {
		t.Errorf("added as %d, %v, and %d items; want 1 and 1", got, err, mem.Len())
	}
}

// A store that is away after an unclear try does not say that nothing was done.
func TestRow_Add_WhatWasUnclearBeforeTheStoreWentAwayStaysUnclear(t *testing.T) {
	tries := 0
	s := tamper(memkv.New(memkv.Options{}), func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
		if ops[0].Kind != kv.Add {
			return next(ops)
		}
		if tries++; tries == 1 {
			return kv.Fail(ops, kv.ErrUnclear)
		}
		return kv.Fail(ops, kv.ErrUnavailable)
	})
	_, err := newRow().Add(t.Context(), s, []byte("mine"))
	wantErr(t, err, kv.ErrUnclear)
}

func TestRow_Add_WhatStaysUnclearIsSaid(t *testing.T) {
	s := unclearAdds(memkv.New(memkv.Options{}), 100, func(string) bool { return false })
	_, err := newRow().Add(t.Context(), s, []byte("mine"))
	wantErr(t, err, kv.ErrUnclear)
}

// Two processes number things at the same time, in every order of their
// operations, with a crash and a write that is carried out late or never.
func TestModels_NumbersHaveNoGapAndNoTwoOwnersInAnyOrder(t *testing.T) {
	bounds := proof.Bounds{Unclear: 1, States: 1_000_000}
	if proof.Long() {
		bounds.Crashes = 1
	}
	for _, v := range []struct {
		name  string
		hint  string
		there int
	}{
		{"the first numbers", "", 0},
		{"some are there", "", 3},
		{"with a hint's key", "hint", 2},
		{"as the hint's key is written", "hint", 14},
	} {
		t.Run(v.name, func(t *testing.T) {
			states := proof.Explore(t, bounds, func(x *proof.Exploration) {
				fill(t, x.Store(), v.there)
				owners := map[int64]string{}
				for _, name := range []string{"ann", "bob"} {
					x.Go(name, func(s kv.Store) {
						q := newRow()
						q.Hint = v.hint
						for i := range 2 {
							value := fmt.Sprint(name, i)
							if n, err := q.Add(context.Background(), s, []byte(value)); err == nil {
								owners[n] += value
								q.Known(n)
							}
						}
					})
				}
				x.Sees(func() string { return fmt.Sprint(owners) })
				x.Always(func(s kv.Store) error { return checkOwners(s, owners) })
			})
			t.Logf("%d states", states)
		})
	}
}

// checkOwners tells what is wrong with the numbers in s, of which those in owners
// were given.
func checkOwners(s kv.Store, owners map[int64]string) error {
	last, at, stands := int64(0), newRow().Key, map[string]int64{}
	for n := int64(1); n <= 30; n++ {
		r, err := kv.One(context.Background(), s, kv.OpGet(at(n)))
		if other := stands[string(r.Value)]; err == nil && other > 0 && string(r.Value) != "old" {
			return fmt.Errorf("%q stands at %d and at %d", r.Value, other, n)
		}
		stands[string(r.Value)] = n
		if err == nil && n > last+1 {
			return fmt.Errorf("number %d is there, and %d is not", n, n-1)
		}
		if err == nil {
			last = n
		}
		if owner, given := owners[n]; given && string(r.Value) != owner {
			return fmt.Errorf("number %d is of %q, and was given to %q", n, r.Value, owner)
		}
	}
	return nil
}
