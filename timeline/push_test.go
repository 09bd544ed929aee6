package timeline

import (
	"context"
	"strconv"
	"testing"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// plainly hides what a store can do beyond the contract.
type plainly struct{ kvmodel.Store }

func (plainly) Powers() kvmodel.Powers { return kvmodel.Powers{} }

// counting is a store that counts its trips, also those after the reply.
type counting struct {
	kvmodel.Store
	trips *int
}

func (c counting) Powers() kvmodel.Powers { return kvmodel.PowersOf(c.Store) }

func (c counting) Do(ctx context.Context, ops []kvmodel.Op) error {
	*c.trips++
	return c.Store.Do(ctx, ops)
}

func openLane(t testing.TB, s kvmodel.Store, shapes ...Shape) *lane {
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
	kvmodel.Store
	key string
	do  func()
}

func (i *interfering) Powers() kvmodel.Powers { return kvmodel.Powers{} }

func (i *interfering) Do(ctx context.Context, ops []kvmodel.Op) error {
	if ops[0].Kind == kvmodel.CompareAndSwap && ops[0].Key == i.key && i.do != nil {
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
		if _, err := kvmodel.One(ctx, mem, kvmodel.OpSet("t:T:N:#n", []byte(n))); err != nil {
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
