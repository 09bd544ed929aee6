package keytree

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type mortal struct {
	kv.Store
	left int
}

func (m *mortal) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if ops[i].Kind != kv.Get {
			m.left--
		}
		if m.left < 0 {
			ops[i].Result.Err = kv.ErrUnavailable
			continue
		}
		_ = m.Store.Do(ctx, ops[i:i+1])
	}
	return nil
}

// All members have left a part of the order, so it is closed. The next two inserts open the way, and
// may die anywhere on it.
func TestSweep_AfterAWayIsHalfOpenTheNextInsertOpensTheRest(t *testing.T) {
	const far = 5000
	for first, ended := 1, false; !ended; first++ {
		for second, ended2 := 0, false; !ended2; second += proof.Size(4, 1) {
			s := newMem()
			r := open(s)
			for i := range 80 {
				r.set(t, idOf(i), far+int64(i))
			}
			for i := range 80 {
				r.set(t, idOf(i), int64(i%7))
			}
			die := func(writes int) bool {
				r := open(&mortal{s, writes})
				err := r.change(idOf(0), To(FromInt(far)))
				if err != nil && !errors.Is(err, kv.ErrUnavailable) {
					t.Fatal(err)
				}
				return err != nil
			}
			ended = !die(first)
			ended2 = !die(second)
			checkFirst(t, s, idOf(0), far, fmt.Sprintf("after %d and %d writes", first, second))
		}
	}
}

// A process removes the last member of a leaf. Before one of its trips, another adds a member there,
// and dies on the way. Then the first reports that the leaf is closed.
func TestSweep_AfterACloseThatIsReportedLateNoEntryIsHidden(t *testing.T) {
	const far = 5000
	for trip, trips := 1, 1; trip <= trips; trip++ {
		for writes, died := 0, true; died; writes++ {
			s := newMem()
			r := open(s)
			for i := range 80 {
				r.set(t, idOf(i), int64(i))
			}
			r.set(t, idOf(0), far)
			slow := &disturbed{Store: s, at: map[int]func(){trip: func() {
				died = open(&mortal{s, writes}).change(idOf(1), To(FromInt(far))) != nil
			}}}
			died = false
			must(t, open(slow).change(idOf(0), To(FromInt(0))))
			trips = slow.trips
			checkFirst(t, s, idOf(1), far, fmt.Sprintf("before trip %d, after %d writes", trip, writes))
		}
	}
}

func checkFirst(t *testing.T, s kv.Store, id string, far int64, when string) {
	t.Helper()
	open(s).checkInvariants(t, idOf(0), idOf(1))
	st, err := open(s).Truth.States(ctx, s, []string{id})
	must(t, err)
	if st[0].Score.Int() != far {
		return
	}
	if l, err := open(s).Page(ctx, s, Between{}, true, nil, 1, Want{}); err != nil || len(l.Members) != 1 || l.Members[0].ID != id {
		t.Errorf("%s: the first is %v, %v", when, names(l.Members), err)
	}
}
