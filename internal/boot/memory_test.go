package boot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func itemsOn(s kv.Store) (m *Memory, trips *atomic.Int64) {
	trips = new(atomic.Int64)
	return New(Config{Names: []string{"a", "b", "c"}, Do: func(ctx context.Context, ops []kv.Op) {
		trips.Add(1)
		_ = s.Do(ctx, ops)
	}}), trips
}

func TestMemory_ManyThatStartAtOnceAgree(t *testing.T) {
	s := memkv.New(memkv.Options{})
	var wg sync.WaitGroup
	all := make([]*Memory, 20)
	for i := range all {
		all[i], _ = itemsOn(s)
		wg.Go(func() {
			proof.Is(t, all[i].Look(t.Context()), nil)
		})
	}
	wg.Wait()
	for _, m := range all {
		if diff := cmp.Diff(all[0].table(), m.table()); diff != "" || m.table().Names != "a,b,c" {
			t.Errorf("tables (-first +another):\n%s", diff)
		}
	}
}

func TestMemory_AFirstStartTakes13TripsAndAnyOtherOne(t *testing.T) {
	s := memkv.New(memkv.Options{})
	for _, want := range []int64{13, 1} {
		m, trips := itemsOn(s)
		must(t, m.Look(t.Context()))
		proof.Equal(t, trips.Load(), want, "trips")
	}
}

func TestServer_IsLookedAtAgainAfterSomeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := itemsOn(memkv.New(memkv.Options{}))
		server := m.Server(1)
		looks := func(want bool) {
			t.Helper()
			if _, look, err := server.Known(); look != want || err != nil {
				t.Errorf("look: %v, %v; want %v", look, err, want)
			}
		}
		looks(true)
		must(t, m.Look(t.Context()))
		looks(false)
		time.Sleep(times.Look - time.Second)
		looks(false)
		time.Sleep(time.Second)
		looks(true)
	})
}

func TestPass_FinishesAnAcceptThatWasCutShort(t *testing.T) {
	for cut := range 5 {
		t.Run(fmt.Sprint("after write ", cut), func(t *testing.T) {
			s := memkv.New(memkv.Options{})
			before, _ := itemsOn(s)
			must(t, before.Look(t.Context()))
			proof.Done(t)(kv.One(t.Context(), s, kv.OpDelete("b")))
			writes := 0
			cutShort := New(Config{Names: before.Names, Do: func(ctx context.Context, ops []kv.Op) {
				for i := range ops {
					if ops[i].Kind.Writes() {
						writes++
					}
					if writes > cut {
						ops[i].Result.Err = kv.ErrUnavailable
						continue
					}
					_ = s.Do(ctx, ops[i:i+1])
				}
			}})
			proof.Ends(t, kv.ErrUnavailable)(cutShort.Accept(t.Context()))
			// Before the first item has the new table, b is lost; afterwards it is not.
			later, _ := itemsOn(s)
			must(t, later.Look(t.Context()))
			if lost, want := len(later.Lost()), 1; cut < 4 && lost != want || cut == 4 && lost != 0 {
				t.Errorf("%d servers are lost after write %d", lost, cut)
			}
			proof.Ends(t, nil)(later.Accept(t.Context()))
			if number, _ := later.Edition(); number != 2 || len(later.Lost()) != 0 {
				t.Errorf("edition %d with %v lost, want the second without", number, later.Lost())
			}
		})
	}
}

// begun returns the memory of a lone server with the given number of accepted losses, as a running
// process knows it.
func begun(t *testing.T, s kv.Store, accepted uint64) *Memory {
	t.Helper()
	m := itemOn(s)
	must(t, m.Look(t.Context()))
	for number, _ := m.Edition(); number <= accepted; number, _ = m.Edition() {
		loseAll(t, s)
		must(t, m.Look(t.Context()))
		proof.Done(t)(m.Accept(t.Context()))
	}
	return m
}

func itemOn(s kv.Store) *Memory {
	return New(Config{Names: []string{"a"}, Do: func(ctx context.Context, ops []kv.Op) { _ = s.Do(ctx, ops) }})
}

func loseAll(t *testing.T, s kv.Store) {
	t.Helper()
	for _, name := range []string{"a", "b", "c"} {
		if _, err := kv.One(t.Context(), s, kv.OpDelete(name)); err != nil && !errors.Is(err, kv.ErrNotFound) {
			t.Fatal(err)
		}
	}
}

func TestRenew_MakesThoseThatKnewAnotherStoreTakeTheNewOne(t *testing.T) {
	for _, accepted := range []uint64{0, 3} {
		synctest.Test(t, func(t *testing.T) {
			s := memkv.New(memkv.Options{})
			running := begun(t, s, accepted)
			for range 2 { // It may be lost again.
				time.Sleep(time.Minute)
				loseAll(t, s)
				later := itemOn(s)
				must := func(err error) {
					t.Helper()
					must(t, err)
				}
				must(later.Look(t.Context()))
				must(running.Look(t.Context()))
				if len(running.Lost()) != 1 || len(later.Lost()) != 0 {
					t.Fatalf("lost: %v to who knew it, %v to who starts later", running.Lost(), later.Lost())
				}
				must(later.Renew(t.Context()))
				must(running.Look(t.Context()))
				if diff := cmp.Diff(later.table(), running.table()); diff != "" || len(running.Lost())+len(later.Lost()) > 0 {
					t.Errorf("lost: %v, %v; tables (-who renews +who knew another):\n%s", running.Lost(), later.Lost(), diff)
				}
			}
		})
	}
}

func TestRenew_LeavesALossThatIsKnownToAccept(t *testing.T) {
	s := memkv.New(memkv.Options{})
	m := begun(t, s, 0)
	loseAll(t, s)
	must(t, m.Look(t.Context()))
	proof.Is(t, m.Renew(t.Context()), kv.ErrLost)
}

func TestRenew_OfSeveralServersHoldsForAll(t *testing.T) {
	s := memkv.New(memkv.Options{})
	running, _ := itemsOn(s)
	later, _ := itemsOn(s)
	must(t, running.Look(t.Context()))
	loseAll(t, s)
	for _, do := range []func(context.Context) error{later.Look, running.Look, later.Renew, running.Look} {
		must(t, do(t.Context()))
	}
	if diff := cmp.Diff(later.table(), running.table()); diff != "" || len(running.Lost()) > 0 {
		t.Errorf("lost: %v; tables (-who renews +who knew another):\n%s", running.Lost(), diff)
	}
}

func TestItem_ReadsAsItWasStored(t *testing.T) {
	it := Item{"10.0.0.1:11211", 0x1f, confirmed, Table{2, 0xab, "10.0.0.1:11211,b:1"}, Table{}}
	const stored = "10.0.0.1:11211 1f 2 2 ab 10.0.0.1:11211,b:1 0 0 -"
	proof.NoDiff(t, cmp.Diff(stored, string(it.encode())), "encoded")
	got, err := decode([]byte(stored))
	proof.Is(t, err, nil)
	proof.NoDiff(t, cmp.Diff(it, got), "decoded")
	for _, bad := range []string{"", "x", "1f2e3d", stored + " 1", "a zz 2 1 1 - 0 0 -"} {
		if _, err := decode([]byte(bad)); err == nil {
			t.Errorf("%q is taken for an item", bad)
		}
	}
}

var must = proof.Must
