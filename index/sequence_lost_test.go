package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type numberLoss struct {
	made    int64
	lost    func(n int64) bool
	hint    bool  // the hint is lost
	least   int64 // the least possible last number afterward
	running bool  // the process that made the numbers still runs
}

func within(first, last int64) func(int64) bool {
	return func(n int64) bool { return first <= n && n <= last }
}

// half is the loss of one of two servers.
func half(seed uint64) func(int64) bool {
	return func(n int64) bool { return rand.New(rand.NewPCG(seed, uint64(n))).Uint64()%2 == 0 }
}

func numberLosses() map[string]numberLoss {
	all := map[string]numberLoss{
		"the first":                       {14, within(1, 1), true, 14, false},
		"some in the middle":              {40, within(5, 20), true, 40, false},
		"in a process that made them":     {40, within(5, 20), true, 40, true},
		"all but the last":                {40, within(1, 39), true, 40, false},
		"hundreds at the beginning":       {700, within(1, 400), true, 700, false},
		"the hint's number and the last":  {40, within(25, 40), false, 31, false},
		"the last, which a process knows": {40, within(25, 40), true, 40, true},
		"none":                            {40, within(0, 0), false, 40, false},
		"all":                             {40, within(1, 40), true, 0, false},
	}
	for seed := range uint64(3) {
		lost := half(seed)
		last := int64(150)
		for lost(last) {
			last--
		}
		all[fmt.Sprint("half of them, ", seed)] = numberLoss{150, lost, true, last, false}
	}
	return all
}

func TestSequenceOf_Rebuild_FindsWhatIsLeftBehindGaps(t *testing.T) {
	for name, loss := range numberLosses() {
		t.Run(name, func(t *testing.T) {
			eachKind(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
				ts := newTickets(closing(t, open(t, shared{s})))
				var left []int64
				for n := range loss.made {
					must(t, ts.Create(ctx, &ticket{Owner: fmt.Sprint("o", n%2), Email: fmt.Sprint("e", n+1)}))
					if !loss.lost(n + 1) {
						left = append(left, n+1)
					}
				}
				must(t, ts.db.Flush(ctx))
				loss.befall(mem, "seq:Ticket", "r:Ticket:")
				if !loss.running {
					ts = newTickets(closing(t, open(t, shared{s})))
				}
				if !loss.hint || loss.running {
					_, err := ts.db.Accept(ctx)
					must(t, err)
				} // a process without the model may have accepted the others
				must(t, errors.Join(ts.Rebuild(ctx), ts.db.Flush(ctx)))
				for name, ts := range map[string]*tickets{"the process": ts, "another": newTickets(closing(t, open(t, shared{s})))} {
					ts.wantLeft(t, ctx, name, left)
				}
				last, err := ts.InOrder.Count(ctx)
				must(t, err)
				loss.wantLast(t, "the process", last)
				v := &ticket{Owner: "o1"}
				must(t, ts.Create(ctx, v))
				if v.ID != last+1 {
					t.Errorf("the next number is %d, want %d", v.ID, last+1)
				}
			})
		})
	}
}

func (l numberLoss) befall(mem *memkv.Store, hint, prefix string) {
	for n := int64(1); n <= l.made; n++ {
		if l.lost(n) {
			mem.Evict(fmt.Sprint(prefix, n))
		}
	}
	if l.hint {
		mem.Evict(hint)
	}
}

// wantLast asserts that no number is given again if any key shows that it was given.
func (l numberLoss) wantLast(t *testing.T, who string, last int64) {
	t.Helper()
	if last < l.least || last > l.made {
		t.Errorf("%s: the last number is %d, want %d to %d", who, last, l.least, l.made)
	}
}

func (ts *tickets) wantLeft(t *testing.T, ctx context.Context, who string, left []int64) {
	t.Helper()
	var ids, listed, inOrder []int64
	for v, err := range ts.All(ctx) {
		must(t, err)
		ids = append(ids, v.ID)
		found, err := ts.ByEmail.Find(ctx, v.Email)
		must(t, err)
		if found.ID != v.ID {
			t.Errorf("%s finds ticket %d by the value of %d", who, found.ID, v.ID)
		}
	}
	for n := range 2 {
		for v, err := range ts.ByOwner.Of(fmt.Sprint("o", n)).All(ctx) {
			must(t, err)
			listed = append(listed, v.ID)
		}
	}
	slices.Sort(listed)
	n, err := ts.InOrder.Count(ctx)
	must(t, err)
	for v, err := range ts.InOrder.Range(ctx, 1, n) {
		must(t, err)
		inOrder = append(inOrder, v.N)
	}
	for what, got := range map[string][]int64{"All": ids, "ByOwner": listed, "Range": inOrder} {
		if diff := cmp.Diff(left, got); diff != "" {
			t.Errorf("%s, %s (-want +got)\n%s", who, what, diff)
		}
	}
}
