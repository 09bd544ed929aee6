package timeline

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type counting struct {
	kv.Store
	trips *int
}

func (c counting) Powers() kv.Powers { return kv.PowersOf(c.Store) }

func (c counting) Do(ctx context.Context, ops []kv.Op) error {
	*c.trips++
	return c.Store.Do(ctx, ops)
}

func openLane(t testing.TB, s kv.Store, shape Shape) *lane {
	t.Helper()
	db, err := kvmodel.Open(s)
	must(t, err)
	t.Cleanup(func() {
		proof.Is(t, db.Close(context.Background()), nil)
	})
	return laneOf(db, shape)
}

var must = proof.Must

func (l *lane) push(ctx context.Context, body string) (int64, error) {
	n, err := l.take(ctx, l.db.Store(), 1)
	if err == nil {
		err = l.add(ctx, l.db.Store(), entry{n, l.db.Now().UnixMilli(), []byte(body)})
	}
	return n, err
}

func TestLane_Push_CostsTwoTripsAndAFewTrims(t *testing.T) {
	trips := 0
	l := openLane(t, counting{still{memkv.New(memkv.Options{})}, &trips}, Shape{})
	ctx := context.Background()
	const laps = 3
	n := laps * int(l.shape.width*l.shape.blocks)
	for i := range n {
		proof.Done(t)(l.push(ctx, strconv.Itoa(i)))
		must(t, l.db.Flush(ctx))
	}
	if per := float64(trips) / float64(n); per > 2.1 {
		t.Errorf("%.3f trips to a push, more than 2.1", per)
	} else {
		t.Logf("%.3f trips to a push", per)
	}
}

// interfering is a store in which do runs right before the first swap of key.
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

// Another process raises the counter at the same time, but not far enough.
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
	if n, err := openLane(t, s, Shape{Size: 64, Segment: 4}).take(ctx, s, 1); n <= top || err != nil {
		t.Errorf("the number is %d, %v; want one above %d, which is in the ring", n, err, top)
	}
}

// splitting is a store in which do runs during a trip: before the first write of the counter of
// that kind, and after the other ops. added is the number that the counter is created with.
type splitting struct {
	kv.Store
	kind  kv.Kind
	do    func()
	added int64
}

func (*splitting) Powers() kv.Powers { return kv.Powers{} }

func (s *splitting) Do(ctx context.Context, ops []kv.Op) error {
	var last []int
	for i := range ops {
		if ops[i].Kind == s.kind && ops[i].Key == "t:T:N:#n" {
			last = append(last, i)
			continue
		}
		s.one(ctx, ops[i:i+1])
	}
	for _, i := range last {
		if do := s.do; do != nil {
			s.do = nil
			do()
		}
		s.one(ctx, ops[i:i+1])
	}
	return kv.Unanswered(ops)
}

func (s *splitting) one(ctx context.Context, op []kv.Op) {
	_ = s.Store.Do(ctx, op)
	if op[0].Kind == kv.Add && op[0].Key == "t:T:N:#n" {
		s.added, _ = kv.ParseNumber(op[0].Value)
	}
}

// takeBeside has a new process take a number while another one pushes and the counter is then lost,
// right before the new one's write of that kind. It returns the number, the created counter, and
// the other's highest number.
func takeBeside(t *testing.T, kind kv.Kind, lost bool) (n, added, top int64) {
	ctx, mem, shape := context.Background(), memkv.New(memkv.Options{}), Shape{Size: 32, Segment: 2}
	other := openLane(t, still{mem}, shape)
	push := func() {
		for range 6 {
			stamp, err := other.push(ctx, "x")
			must(t, err)
			top = stamp
		}
	}
	if push(); lost {
		mem.Evict("t:T:N:#n")
	}
	s := &splitting{Store: still{mem}, kind: kind, do: func() { push(); mem.Evict("t:T:N:#n") }}
	n, err := openLane(t, s, shape).take(ctx, s, 1)
	must(t, err)
	return n, s.added, top
}

// Readers go by the counter, so it must be right from the start.
func TestLane_Take_CreatesALostCounterAboveAllThatWasAcknowledgedBefore(t *testing.T) {
	if n, added, top := takeBeside(t, kv.Increment, false); n <= top || added <= top {
		t.Errorf("the counter was created as %d, and the number is %d; want both above %d", added, n, top)
	}
}

// Before the process creates the counter, another one does, goes on, and the counter is lost again.
func TestLane_Take_LooksAgainOnceItHasCreatedTheCounter(t *testing.T) {
	if n, added, top := takeBeside(t, kv.Add, true); n <= top {
		t.Errorf("the counter was created as %d, and the number is %d; want it above %d", added, n, top)
	}
}

func setCounter(t testing.TB, s kv.Store, n int64) {
	t.Helper()
	proof.Done(t)(kv.One(context.Background(), s, kv.OpSet("t:T:N:#n", strconv.AppendInt(nil, n, 10))))
}

// newest returns the bodies of the n newest entries, as a new process sees them.
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

func TestLane_Push_NearTheLastNumberIsShownOrRefused(t *testing.T) {
	ctx := context.Background()
	for _, from := range []int64{lastStamp - 10, lastStamp - 3, lastStamp, lastStamp + 1, kv.MaxNumber - 1, kv.MaxNumber} {
		s, shape := still{memkv.New(memkv.Options{})}, Shape{Size: 8, Segment: 4}
		first := openLane(t, s, shape)
		proof.Done(t)(first.push(ctx, "first"))
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
	n, err := sleeper.take(ctx, s, 1)
	must(t, err)
	var want []string
	for i := range 23 {
		proof.Done(t)(others.push(ctx, strconv.Itoa(i)))
		want = append([]string{strconv.Itoa(i)}, want...)
	}
	must(t, sleeper.publish(ctx, s, entry{n, 1, []byte("late")}))
	proof.NoDiff(t, cmp.Diff(want[:8], newest(t, s, shape, 100)), "mismatch")
}
