package numbering_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/ringtree/ringtree/internal/numbering"
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
	_, err := newRow().Last(ctx, s)
	wantErr(t, err, kv.ErrLost)
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
