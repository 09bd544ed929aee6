package timeline

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// plainly hides what a store can do beyond the contract.
type plainly struct{ kv.Store }

func (plainly) Powers() kv.Powers { return kv.Powers{} }

// counting is a store that counts its trips, also those after the reply.
type counting struct {
	kv.Store
	trips *int
}

func (c counting) Powers() kv.Powers { return kv.PowersOf(c.Store) }

func (c counting) Do(ctx context.Context, ops []kv.Op) error {
	*c.trips++
	return c.Store.Do(ctx, ops)
}

func openLane(t testing.TB, s kv.Store, shapes ...Shape) *lane {
	t.Helper()
	db, err := kvmodel.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	var all []shape
	for _, s := range shapes {
		all = append(all, s.shape())
	}
	return newLane(newProcess(db), "t:T:N:", all)
}

// push is a push alone, as one that belongs to no record.
func (l *lane) push(ctx context.Context, body string) (int64, error) {
	n, err := l.take(ctx, l.db.Store())
	if err == nil {
		err = l.publish(ctx, l.db.Store(), entry{n, l.db.Now().UnixMilli(), []byte(body)})
	}
	if err == nil {
		l.tidy(ctx, l.db.Store(), n)
	}
	return n, err
}

func TestLane_Push_CostsTwoTripsAndAFewForTrims(t *testing.T) {
	trips := 0
	l := openLane(t, counting{plainly{memkv.New(memkv.Options{})}, &trips}, Shape{})
	ctx := context.Background()
	const laps = 3
	n := laps * int(l.shape().width*l.shape().blocks)
	for i := range n {
		if _, err := l.push(ctx, strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
		if err := l.db.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if per := float64(trips) / float64(n); per > 2.1 {
		t.Errorf("%.3f trips to a push, more than 2.1", per)
	} else {
		t.Logf("%.3f trips to a push", per)
	}
}

// interfering is a store that another writer gets at right before the first swap
// of a key.
type interfering struct {
	kv.Store
	key string
	do  func()
}

func (i *interfering) Powers() kv.Powers { return kv.Powers{} }

func (i *interfering) Do(ctx context.Context, ops []kv.Op) error {
	if ops[0].Kind == kv.CompareAndSwap && ops[0].Key == i.key && i.do != nil {
		do := i.do
		i.do = nil
		do()
	}
	return i.Store.Do(ctx, ops)
}

// A process that knows less raises the counter too, but not far enough.
func TestLane_Take_ACounterThatIsNotRaisedFarEnoughIsRaisedAgain(t *testing.T) {
	ctx, mem := context.Background(), memkv.New(memkv.Options{})
	set := func(n string) {
		if _, err := kv.One(ctx, mem, kv.OpSet("t:T:N:#n", []byte(n))); err != nil {
			t.Fatal(err)
		}
	}
	first := openLane(t, still{mem}, Shape{Size: 64, Segment: 4})
	top := int64(0)
	for range 12 {
		n, err := first.push(ctx, "x")
		if err != nil {
			t.Fatal(err)
		}
		top = n
	}
	set("4")
	s := &interfering{Store: still{mem}, key: "t:T:N:#n", do: func() { set(strconv.FormatInt(top-1, 10)) }}
	if n, err := openLane(t, s, Shape{Size: 64, Segment: 4}).take(ctx, s); n <= top || err != nil {
		t.Errorf("the number is %d, %v; want one above %d, which is in the ring", n, err, top)
	}
}

func setCounter(t testing.TB, s kv.Store, n int64) {
	t.Helper()
	if _, err := kv.One(context.Background(), s, kv.OpSet("t:T:N:#n", strconv.AppendInt(nil, n, 10))); err != nil {
		t.Fatal(err)
	}
}

// newest returns the bodies of the n newest entries, as a process sees them that
// has just been started.
func newest(t testing.TB, s kv.Store, shape Shape, n int) []string {
	t.Helper()
	ctx, m := context.Background(), newMerge(s, []*lane{openLane(t, s, shape)}, false, nil, n)
	if err := m.open(ctx); err != nil {
		t.Fatal(err)
	}
	items, err := m.gather(ctx, n, func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	var bodies []string
	for _, it := range items[:min(n, len(items))] {
		bodies = append(bodies, string(it.body))
	}
	return bodies
}

// Whatever somebody has set a counter to, what is acknowledged is shown.
func TestLane_Push_NearTheLastNumberIsShownOrRefused(t *testing.T) {
	ctx := context.Background()
	for _, from := range []int64{lastStamp - 10, lastStamp - 3, lastStamp, lastStamp + 1, kv.MaxNumber - 1, kv.MaxNumber} {
		s, shape := still{memkv.New(memkv.Options{})}, Shape{Size: 8, Segment: 4}
		first := openLane(t, s, shape)
		if _, err := first.push(ctx, "first"); err != nil {
			t.Fatal(err)
		}
		setCounter(t, s, from)
		for i := range 12 {
			l := first
			if i%3 == 0 {
				l = openLane(t, s, shape)
			}
			n, err := l.push(ctx, strconv.Itoa(i))
			if errors.Is(err, kv.ErrNotNumber) && from < lastStamp {
				continue
			}
			if err != nil {
				t.Fatalf("push %d after the counter was set to %d: %v", i, from, err)
			}
			if top := newest(t, s, shape, 1); !cmp.Equal([]string{strconv.Itoa(i)}, top) {
				t.Errorf("push %d after the counter was set to %d got %d, and the newest is %v", i, from, n, top)
			}
		}
	}
}

// A writer who has its number sleeps while the others go around the ring.
func TestLane_Publish_AfterALapsSleepClobbersNothing(t *testing.T) {
	ctx, s, shape := context.Background(), still{memkv.New(memkv.Options{})}, Shape{Size: 8, Segment: 2}
	sleeper, others := openLane(t, s, shape), openLane(t, s, shape)
	n, err := sleeper.take(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 23 {
		if _, err := others.push(ctx, strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
		want = append([]string{strconv.Itoa(i)}, want...)
	}
	if err := sleeper.publish(ctx, s, entry{n, 1, []byte("late")}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want[:8], newest(t, s, shape, 100)); d != "" {
		t.Errorf("mismatch (-want +got):\n%s", d)
	}
}
