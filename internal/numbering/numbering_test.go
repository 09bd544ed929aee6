package numbering_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/ringtree/ringtree/internal/numbering"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func newRow() *numbering.Row {
	return &numbering.Row{Key: func(n int64) string { return "n:" + strconv.FormatInt(n, 10) }, Hint: "n:hint"}
}

func fill(t *testing.T, s kv.Store, n int) {
	t.Helper()
	var ops []kv.Op
	for i := 1; i <= n; i++ {
		ops = append(ops, kv.OpSet(newRow().Key(int64(i)), []byte("old")))
	}
	must(t, s.Do(context.Background(), ops))
}

// row is a store with the numbers up to last.
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
	s, q := memkv.New(memkv.Options{}), newRow()
	fill(t, s, 40)
	for n := range int64(41) {
		if op, due := q.Remind(n); due {
			must(t, s.Do(ctx, []kv.Op{op}))
		}
	}
	if n, err := newRow().Last(ctx, s); err != nil || n != 40 {
		t.Errorf("the last is %d, %v; want 40", n, err)
	}
	for n := int64(25); n <= 40; n++ {
		s.Evict(q.Key(n))
	}
	proof.Ends(t, kv.ErrLost)(newRow().Last(ctx, s))
	s.Evict("n:hint")
	if n, err := newRow().Last(ctx, s); err != nil || n != 24 {
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
}

func TestRow_Left_FindsTheLastBeyondGapsInFewTrips(t *testing.T) {
	for name, c := range map[string]struct {
		last  int64
		there func(n int64) bool
		trips int
	}{
		"no gap":                          {70_000, func(int64) bool { return true }, 1},
		"every other one":                 {70_000, func(n int64) bool { return n%2 == 0 }, 16},
		"one of 64":                       {7_000, func(n int64) bool { return n%64 == 24 }, 16},
		"a gap of 63":                     {70_000, func(n int64) bool { return n < 100 || n > 162 }, 24},
		"long gaps":                       {200_000, func(n int64) bool { return n%10_000 > 4_000 }, 40},
		"the first half":                  {100_000, func(n int64) bool { return n > 50_000 }, 16},
		"the first half of a large model": {2_000_000, func(n int64) bool { return n > 1_000_000 }, 24},
	} {
		t.Run(name, func(t *testing.T) {
			s := holed{c.last, c.there}
			last := c.last
			for !c.there(last) {
				last--
			}
			found, err := newRow().Last(t.Context(), s)
			must(t, err)
			q := newRow()
			q.Known(found)
			got := cost(t, t.Context(), func(ctx context.Context) error {
				n, err := q.Left(ctx, kv.Count(s))
				if n != last || q.LastKnown() != last {
					t.Errorf("found %d, and it knows of %d; want %d", n, q.LastKnown(), last)
				}
				return err
			})
			// it looks once for what it knows
			if t.Logf("%d trips", got.Trips); got.Trips > c.trips+1 {
				t.Errorf("it took %d trips, want at most %d", got.Trips, c.trips+1)
			}
		})
	}
}

type holed struct {
	last  int64
	there func(n int64) bool
}

func (h holed) Do(_ context.Context, ops []kv.Op) error {
	for i := range ops {
		n, err := strconv.ParseInt(ops[i].Key[len("n:"):], 10, 64)
		ops[i].Result = kv.Result{Value: []byte("old")}
		if err != nil || n < 1 || n > h.last || !h.there(n) {
			ops[i].Result = kv.Result{Err: kv.ErrNotFound}
		}
	}
	return nil
}

func (holed) Close() error { return nil }

func TestRow_Accept_TheLastThatAnythingNamesIsNotGivenAgain(t *testing.T) {
	for name, c := range map[string]struct {
		left  []int64
		hint  string
		known int64
		want  int64
	}{
		"nothing was given":                     {nil, "", 0, 0},
		"nothing is left":                       {nil, "30", 0, 30},
		"nothing is lost":                       {[]int64{1, 2, 3}, "2", 3, 3},
		"a gap":                                 {[]int64{1, 2, 40, 41}, "", 0, 41},
		"the hint's number is gone":             {[]int64{1, 2, 3, 20}, "32", 0, 32},
		"what a process knows is gone":          {[]int64{1, 2, 3}, "", 5, 5},
		"the hint leads over a gap":             {[]int64{1, 2, 5000, 5001}, "4992", 0, 5001},
		"the hint is near what is left":         {[]int64{1, 2, 5000}, "5008", 0, 5008},
		"nothing is near what the hint says":    {[]int64{1, 2}, "5000", 0, 2},
		"nothing is near, and nothing is below": {nil, "5000", 0, 0},
		"the hint is damaged":                   {[]int64{1, 2}, "x", 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, s, q := t.Context(), memkv.New(memkv.Options{}), newRow()
			for _, n := range c.left {
				must(t, s.Do(ctx, []kv.Op{kv.OpSet(q.Key(n), []byte("old"))}))
			}
			if c.hint != "" {
				must(t, s.Do(ctx, []kv.Op{kv.OpSet(q.Hint, []byte(c.hint))}))
			}
			q.Known(c.known)
			n, err := q.Accept(ctx, s, []byte("nothing"))
			if err != nil || n != c.want {
				t.Errorf("Accept: %d, %v; want %d", n, err, c.want)
			}
			for name, q := range map[string]*numbering.Row{"the process": q, "another": newRow()} {
				if n, err := q.Last(ctx, s); err != nil || n != c.want {
					t.Errorf("%s: the last is %d, %v; want %d", name, n, err, c.want)
				}
			}
		})
	}
}

func cost(t *testing.T, ctx context.Context, f func(ctx context.Context) error) kv.Cost {
	t.Helper()
	ctx, m := kv.Metered(ctx)
	proof.Is(t, f(ctx), nil)
	return m.Cost()
}

var must = proof.Must
