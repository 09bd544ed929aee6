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

// counting is a store that counts its trips, including those after the reply.
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
	must(t, err)
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return laneOf(db, shapes)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// push is a push by itself, of an entry that belongs to no record.
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

func TestLane_Push_CostsTwoTripsAndAFewTrims(t *testing.T) {
	trips := 0
	l := openLane(t, counting{plainly{memkv.New(memkv.Options{})}, &trips}, Shape{})
	ctx := context.Background()
	const laps = 3
	n := laps * int(l.shape().width*l.shape().blocks)
	for i := range n {
		if _, err := l.push(ctx, strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
		must(t, l.db.Flush(ctx))
	}
	if per := float64(trips) / float64(n); per > 2.1 {
		t.Errorf("%.3f trips to a push, more than 2.1", per)
	} else {
		t.Logf("%.3f trips to a push", per)
	}
}

// interfering is a store in which another writer acts right before the first swap of
// a key.
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

// A process that knows less raises the counter at the same time, but not far enough.
func TestLane_Take_RaisesACounterAgainThatIsStillTooLow(t *testing.T) {
	ctx, mem := context.Background(), memkv.New(memkv.Options{})
	first := openLane(t, still{mem}, Shape{Size: 64, Segment: 4})
	top := int64(0)
	for range 12 {
		n, err := first.push(ctx, "x")
		must(t, err)
		top = n
	}
	setCounter(t, mem, 4)
	s := &interfering{Store: still{mem}, key: "t:T:N:#n", do: func() { setCounter(t, mem, top-1) }}
	if n, err := openLane(t, s, Shape{Size: 64, Segment: 4}).take(ctx, s); n <= top || err != nil {
		t.Errorf("the number is %d, %v; want one above %d, which is in the ring", n, err, top)
	}
}

// splitting is a store that carries out the gets of the first trip with an increment,
// lets other writers act, and then carries out the increment. It notes the number that
// the counter is created with.
type splitting struct {
	kv.Store
	do    func()
	added int64
}

func (*splitting) Powers() kv.Powers { return kv.Powers{} }

func (s *splitting) Do(ctx context.Context, ops []kv.Op) error {
	var late []int
	for i := range ops {
		if ops[i].Kind == kv.Increment && s.do != nil {
			late = append(late, i)
			continue
		}
		if ops[i].Kind == kv.Add && ops[i].Key == "t:T:N:#n" {
			s.added, _ = kv.ParseNumber(ops[i].Value)
		}
		_ = s.Store.Do(ctx, ops[i:i+1])
	}
	for _, i := range late {
		if do := s.do; do != nil {
			s.do = nil
			do()
		}
		_ = s.Store.Do(ctx, ops[i:i+1])
	}
	return kv.Unanswered(ops)
}

// What was acknowledged after a new process had read the ring, and before it found the
// counter lost, is below the new counter from the start: readers go by that.
func TestLane_Take_CreatesALostCounterAboveAllThatWasAcknowledgedBefore(t *testing.T) {
	ctx, mem, shape := context.Background(), memkv.New(memkv.Options{}), Shape{Size: 32, Segment: 2}
	other, top := openLane(t, still{mem}, shape), int64(0)
	push := func() {
		for range 6 {
			n, err := other.push(ctx, "x")
			must(t, err)
			top = n
		}
	}
	push()
	s := &splitting{Store: still{mem}, do: func() { push(); mem.Evict("t:T:N:#n") }}
	if n, err := openLane(t, s, shape).take(ctx, s); n <= top || s.added <= top || err != nil {
		t.Errorf("the counter was created as %d, and the number is %d, %v; want both above %d", s.added, n, err, top)
	}
}

func setCounter(t testing.TB, s kv.Store, n int64) {
	t.Helper()
	_, err := kv.One(context.Background(), s, kv.OpSet("t:T:N:#n", strconv.AppendInt(nil, n, 10)))
	must(t, err)
}

// newest returns the bodies of the n newest entries, as a process that has just
// started sees them.
func newest(t testing.TB, s kv.Store, shape Shape, n int) []string {
	t.Helper()
	ctx, m := context.Background(), newMerge(s, []*lane{openLane(t, s, shape)}, false, nil, n)
	must(t, m.open(ctx))
	items, err := m.gather(ctx, n, func(string) bool { return false })
	must(t, err)
	var bodies []string
	for _, it := range items[:min(n, len(items))] {
		bodies = append(bodies, string(it.body))
	}
	return bodies
}

// Whatever a counter was set to, what is acknowledged is shown.
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

// A writer with a number sleeps while the others go around the ring.
func TestLane_Publish_AfterALapsSleepClobbersNothing(t *testing.T) {
	ctx, s, shape := context.Background(), still{memkv.New(memkv.Options{})}, Shape{Size: 8, Segment: 2}
	sleeper, others := openLane(t, s, shape), openLane(t, s, shape)
	n, err := sleeper.take(ctx, s)
	must(t, err)
	var want []string
	for i := range 23 {
		if _, err := others.push(ctx, strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
		want = append([]string{strconv.Itoa(i)}, want...)
	}
	must(t, sleeper.publish(ctx, s, entry{n, 1, []byte("late")}))
	if d := cmp.Diff(want[:8], newest(t, s, shape, 100)); d != "" {
		t.Errorf("mismatch (-want +got):\n%s", d)
	}
}
