package keytree

import (
	"context"
	"errors"
	"testing"

	"github.com/ringtree/ringtree/kvmodel"
)

// mortal is a store to a process that dies after a number of writes.
type mortal struct {
	kvmodel.Store
	left int
}

func (m *mortal) Do(ctx context.Context, ops []kvmodel.Op) error {
	for i := range ops {
		if ops[i].Kind != kvmodel.Get {
			m.left--
		}
		if m.left < 0 {
			ops[i].Result.Err = kvmodel.ErrUnavailable
			continue
		}
		_ = m.Store.Do(ctx, ops[i:i+1])
	}
	return nil
}

// A part of the order from which all have gone is closed, level by level. Who puts
// something in opens the way first, and can die anywhere on it: then the next one
// must find that it is not open yet.
func TestSweep_AfterAWayIsOpenedHalfTheNextOneOpensTheRest(t *testing.T) {
	const far = 5000
	for writes := 1; ; writes++ {
		s := newMem()
		r := open(s)
		for i := range 80 {
			r.set(t, idOf(i), far+int64(i))
		}
		for i := range 80 {
			r.set(t, idOf(i), int64(i%7))
		}
		dying := open(&mortal{s, writes})
		_, err := dying.Set(ctx, dying.s, dying.own, idOf(0), To(FromInt(far)))
		next := open(s)
		next.set(t, idOf(0), far)
		next.checkInvariants(t, idOf(0), idOf(1))
		if l, err := open(s).Page(ctx, s, Between{}, true, nil, 1, Want{}); err != nil || len(l.Members) != 1 || l.Members[0].ID != idOf(0) {
			t.Errorf("after %d writes: the first is %v, %v", writes, names(l.Members), err)
		}
		if err == nil {
			t.Logf("it takes %d writes", writes)
			return
		}
		if !errors.Is(err, kvmodel.ErrUnavailable) {
			t.Fatal(err)
		}
	}
}
