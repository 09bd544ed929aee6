package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type ticket struct {
	ID    int64
	Owner string
	Email string
}

type tickets struct {
	*kvmodel.Records[ticket, int64]
	db      *kvmodel.DB
	ByOwner *index.Lists[ticket, int64, string]
	ByEmail *index.Unique[ticket, string]
	InOrder *index.Sequence[ticket]
}

func newTickets(db *kvmodel.DB) *tickets {
	r := kvmodel.NewRecords(db, kvmodel.Schema[ticket, int64]{
		Name: "Ticket", Version: 1,
		ID:         func(v *ticket) int64 { return v.ID },
		SetID:      func(v *ticket, id int64) { v.ID = id },
		Key:        kvmodel.IntKey[int64](),
		Codec:      asJSON[ticket]{},
		Sequential: true,
	})
	return &tickets{
		Records: r, db: db,
		ByOwner: index.NewLists(r, kvmodel.IndexSpec[ticket, string]{
			Name: "ByOwner", Def: "list Owner string", Fields: []string{"Owner"}, Key: kvmodel.StringKey[string](),
			Values: func(v *ticket) []string { return []string{v.Owner} },
		}),
		ByEmail: index.NewUnique(r, kvmodel.IndexSpec[ticket, string]{
			Name: "ByEmail", Def: "unique Email string", Fields: []string{"Email"}, Key: kvmodel.StringKey[string](),
			Values: func(v *ticket) []string { return []string{v.Email} },
		}),
		InOrder: index.SequenceOf(r),
	}
}

func TestSequenceOf_RecordsAreNumberedInTheirOrder(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		ts := newTickets(closing(t, open(t, s)))
		for want := int64(1); want <= 5; want++ {
			v := &ticket{Owner: "ann"}
			must(t, ts.Create(ctx, v))
			proof.Equal(t, v.ID, want, "the id")
		}
		must(t, ts.Delete(ctx, 5))
		must(t, ts.Delete(ctx, 2))
		v := &ticket{Owner: "ann"}
		if n, err := ts.InOrder.Add(ctx, v); err != nil || n != 6 || v.ID != 6 {
			t.Errorf("added as %d, %v; want 6: a number that was deleted is not given again", n, err)
		}
		if n, err := ts.InOrder.Count(ctx); err != nil || n != 6 {
			t.Errorf("Count is %d, %v; want 6", n, err)
		}
		var all []int64
		for v, err := range ts.All(ctx) {
			must(t, err)
			all = append(all, v.ID)
		}
		proof.NoDiff(t, cmp.Diff([]int64{1, 3, 4, 6}, all), "All")
		must(t, ts.db.Flush(ctx))
		if n, err := ts.ByOwner.Of("ann").Count(ctx); err != nil || n != 4 {
			t.Errorf("the list has %d, %v; want 4", n, err)
		}
	})
}

func TestSequenceOf_AnIDThatTheCallerChoseIsRefused(t *testing.T) {
	ctx := t.Context()
	ts := newTickets(closing(t, open(t, memkv.New(memkv.Options{}))))
	must(t, ts.Create(ctx, &ticket{Email: "a"}))
	for name, err := range map[string]error{
		"create": ts.Create(ctx, &ticket{ID: 7}),
		"put":    ts.Put(ctx, &ticket{ID: 7}),
		"upsert": func() error { _, err := ts.Upsert(ctx, 7, func(*ticket) error { return nil }); return err }(),
	} {
		if !errors.Is(err, kvmodel.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
	must(t, ts.Put(ctx, &ticket{ID: 1, Email: "b"}))
	v := &ticket{Email: "b"}
	if err := ts.Create(ctx, v); !errors.Is(err, kv.ErrExists) || v.ID != 0 {
		t.Errorf("a value that is taken: %v, and the id is %d", err, v.ID)
	}
}

func TestSequence_Page_GoesBothWays(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		ts := newTickets(closing(t, open(t, s)))
		for range 23 {
			must(t, ts.Create(ctx, &ticket{}))
		}
		for n := int64(5); n <= 17; n++ {
			must(t, ts.Delete(ctx, n))
		}
		want := []int64{1, 2, 3, 4, 18, 19, 20, 21, 22, 23}
		var onward []int64
		for cursor, first := "", true; first || cursor != ""; first = false {
			p, err := ts.InOrder.Page(ctx, cursor, 3)
			must(t, err)
			onward = append(onward, numbersOf(p)...)
			cursor = p.Next
		}
		proof.NoDiff(t, cmp.Diff(want, onward), "onward")
		p, err := ts.InOrder.LastPage(ctx, 3)
		must(t, err)
		back := [][]int64{numbersOf(p)}
		for p.Prev != "" {
			p, err = ts.InOrder.Page(ctx, p.Prev, 3)
			must(t, err)
			back = append(back, numbersOf(p))
		}
		slices.Reverse(back)
		proof.NoDiff(t, cmp.Diff(want, slices.Concat(back...)), "back")
		p, err = ts.InOrder.Page(ctx, "", 100, func(v *ticket) bool { return v.ID%2 == 0 })
		must(t, err)
		if diff := cmp.Diff([]int64{2, 4, 18, 20, 22}, numbersOf(p)); diff != "" || p.Next != "" || p.Prev != "" {
			t.Errorf("kept (-want +got)\n%s, next %q, previous %q", diff, p.Next, p.Prev)
		}
		for _, cursor := range []string{"x", plug.Cursor("sequence Ticket", nil), plug.Cursor("sequence Ticket", []byte("><"))} {
			if p, err := ts.InOrder.Page(ctx, cursor, 3); cursor != plug.Cursor("sequence Ticket", []byte("><")) && !errors.Is(err, kvmodel.ErrBadCursor) {
				t.Errorf("%q: got %v, %v; want ErrBadCursor", cursor, p, err)
			}
		}
	})
}

func numbersOf(p kvmodel.Listing[ticket]) []int64 {
	var ns []int64
	for _, v := range p.Items {
		ns = append(ns, v.ID)
	}
	return ns
}

func TestSequence_Split_GivesEveryNumberToOneWorker(t *testing.T) {
	ctx := t.Context()
	s := newTickets(closing(t, open(t, memkv.New(memkv.Options{})))).InOrder
	if spans, err := s.Split(ctx, 4); err != nil || len(spans) != 0 {
		t.Errorf("of an empty one: %v, %v", spans, err)
	}
	for range 10 {
		proof.Done(t)(s.Add(ctx, new(ticket)))
	}
	for n, want := range map[int][]index.Span{
		1:  {{1, 10}},
		3:  {{1, 3}, {4, 6}, {7, 10}},
		20: {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}, {8, 8}, {9, 9}, {10, 10}},
	} {
		spans, err := s.Split(ctx, n)
		proof.Is(t, err, nil)
		proof.NoDiff(t, cmp.Diff(want, spans), "in %d", n)
	}
	proof.Ends(t, kv.ErrBadOp)(s.Split(ctx, 0))
}

func TestSequence_ALossIsReportedUntilItIsAccepted(t *testing.T) {
	ctx := t.Context()
	mem := memkv.New(memkv.Options{})
	ts := newTickets(closing(t, open(t, shared{mem})))
	for range 40 {
		must(t, errors.Join(ts.Create(ctx, new(ticket)), ts.db.Flush(ctx)))
	}
	for n := 25; n <= 40; n++ {
		mem.Evict(fmt.Sprint("r:Ticket:", n))
	}
	ts = newTickets(closing(t, open(t, shared{mem})))
	_, adding := ts.InOrder.Add(ctx, new(ticket))
	wantError(t, adding, kv.ErrLost)
	_, counting := ts.InOrder.Count(ctx)
	wantError(t, counting, kv.ErrLost)
	must(t, ts.AcceptLoss(ctx))
	if n, err := ts.InOrder.Add(ctx, new(ticket)); err != nil || n != 33 {
		t.Errorf("added as %d, %v; want 33: a key that is left says that 32 was given", n, err)
	}
	_, getting := ts.InOrder.Get(ctx, 30)
	wantError(t, getting, kv.ErrNotFound)
}

func TestSequence_AHintThatIsNoNumberIsNotAsked(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	ts := newTickets(closing(t, open(t, shared{mem})))
	for range 40 {
		must(t, errors.Join(ts.Create(ctx, new(ticket)), ts.db.Flush(ctx)))
	}
	flip(ctx, t, mem, "seq:Ticket", 6)
	if n, err := newTickets(closing(t, open(t, shared{mem}))).InOrder.Count(ctx); n != 40 || err != nil {
		t.Errorf("%d values, %v; want 40", n, err)
	}
}

func wantError(t testing.TB, err, want error) {
	t.Helper()
	proof.Is(t, err, want)
}

func TestSweep_NumbersHaveNoGapAndNoTwoOwners(t *testing.T) {
	for _, powers := range []kvtest.Powers{kvtest.NoPowers, kvtest.ServerPowers, kvtest.AllPowers} {
		proof.Sweep(t, 80, kvtest.Hostile(powers), func(sim *kvtest.Sim) {
			var mu sync.Mutex
			acked := map[int64]string{}
			for p := range 3 {
				rng := rand.New(rand.NewPCG(sim.Seed(), uint64(p)))
				sim.Go(fmt.Sprint("p", p), func(s kv.Store) {
					ts := newTickets(openQuiet(s))
					for i := range 5 {
						ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
						v := &ticket{Owner: fmt.Sprint(p, "-", i), Email: fmt.Sprint(rng.IntN(8))}
						if ts.Create(ctx, v) == nil {
							mu.Lock()
							if old, twice := acked[v.ID]; twice {
								sim.T().Errorf("number %d is of %s and of %s", v.ID, old, v.Owner)
							}
							acked[v.ID] = v.Owner
							mu.Unlock()
						}
						cancel()
					}
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					_ = ts.db.Close(ctx)
				})
			}
			sim.Wait()
			// let the work that Close left end
			time.Sleep(2 * time.Minute)
			sim.Quiet()
			time.Sleep(time.Minute)
			checkNumbers(sim, acked)
		})
	}
}

func checkNumbers(sim *kvtest.Sim, acked map[int64]string) {
	t, ctx := sim.T(), context.Background()
	ts := newTickets(openQuiet(sim.Still()))
	last, err := ts.Last(ctx)
	must(t, err)
	for n := int64(1); n <= last+20; n++ {
		_, err := kv.One(ctx, sim.Store(), kv.OpGet(fmt.Sprint("r:Ticket:", n)))
		proof.Equal(t, err == nil, (n <= last), "the last number is %d, and %d is there", last, n)
	}
	for n, owner := range acked {
		if v, err := ts.Get(ctx, n); err != nil || v.Owner != owner {
			t.Errorf("number %d is %+v, %v; want it of %s", n, v, err, owner)
		}
	}
	must(t, ts.db.Close(ctx))
}

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
					proof.Done(t)(ts.db.Accept(ctx))
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
				proof.Equal(t, v.ID, last+1, "the next number")
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
		proof.Equal(t, found.ID, v.ID, "%s finds ticket", who)
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
		proof.NoDiff(t, cmp.Diff(left, got), "%s, %s", who, what)
	}
}
