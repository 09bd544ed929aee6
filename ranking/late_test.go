package ranking_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// slowOnce holds up for a second the first trip since it was armed that writes a record of the
// board's own.
type slowOnce struct {
	kv.Store
	board string
	armed atomic.Bool
}

func (*slowOnce) Powers() kv.Powers { return kv.Powers{} }
func (*slowOnce) Close() error      { return nil }

func (s *slowOnce) Do(ctx context.Context, ops []kv.Op) error {
	for _, op := range ops {
		own := strings.HasPrefix(op.Key, "rank:Talk:"+s.board+":i:")
		if own && op.Kind != kv.Get && s.armed.CompareAndSwap(true, false) {
			time.Sleep(time.Second)
			break
		}
	}
	return s.Store.Do(ctx, ops)
}

// lookedBefore has p look at what before has counted and be slow to write what it has seen. In
// between, another process makes the changes of during.
func lookedBefore(t *testing.T, board string, before, during func(m *talks) error, check func(m *talks)) {
	synctest.Test(t, func(t *testing.T) {
		store := plain{memkv.New(memkv.Options{})}
		slow := &slowOnce{Store: store, board: board}
		p, q := openTalks(t, slow, ranking.Windowed), openTalks(t, &slowOnce{Store: store}, ranking.Windowed)
		do := func(m *talks, change func(m *talks) error) {
			t.Helper()
			must(t, change(m))
		}
		flush := func(m *talks) error { return m.db.Flush(ctx) }
		do(p, func(m *talks) error {
			return errors.Join(m.Create(ctx, &talk{ID: "a", Born: 1}), m.Create(ctx, &talk{ID: "b"}), flush(m))
		})
		do(p, before)
		slow.armed.Store(true)
		slowly := make(chan error)
		go func() { slowly <- flush(p) }()
		time.Sleep(100 * time.Millisecond)
		do(q, during)
		do(q, flush)
		if err := <-slowly; err != nil {
			t.Error(err)
		}
		check(q)
	})
}

func TestBoard_WhoLooksBeforeARecordIsDeletedDoesNotBringItBack(t *testing.T) {
	for name, during := range map[string]func(m *talks) error{
		"deleted": func(m *talks) error { return m.Delete(ctx, "a") },
		"made again": func(m *talks) error {
			return errors.Join(m.Delete(ctx, "a"), m.Create(ctx, &talk{ID: "a"}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := func(m *talks) error { _, err := m.votes.Add(ctx, "a", 5); return err }
			lookedBefore(t, "TopVotes", before, during, func(m *talks) {
				m.shows(t, m.Top)
				if n, err := m.Top.Len(ctx); n != 0 || err != nil {
					t.Errorf("it has %d members, %v; want none", n, err)
				}
			})
		})
	}
}

func TestBoard_ARecordMadeAgainAtOnceBeginsWithoutItsCounts(t *testing.T) {
	eachTalks(t, func(t *testing.T, m *talks) {
		again := func() error { return m.Create(ctx, &talk{ID: "a"}) }
		_, err := m.votes.Add(ctx, "a", 5)
		must(t, errors.Join(err, again()))
		m.shows(t, m.Top, "a")
		must(t, errors.Join(m.Delete(ctx, "a"), again()))
		m.shows(t, m.Top)
		if n, err := m.Top.Len(ctx); n != 0 || err != nil {
			t.Errorf("it has %d members, %v; want none", n, err)
		}
	})
}

func TestBoard_WhoLooksBeforeACounterGoesBackDoesNotBringItsScoreBack(t *testing.T) {
	count := func(delta int64) func(m *talks) error {
		return func(m *talks) error { _, err := m.views.Add(ctx, "b", delta); return err }
	}
	lookedBefore(t, "Front", count(900), count(-900), func(m *talks) { m.shows(t, m.Front, "a", "b") })
}

func TestBoard_AnEntryWithoutALineIsFoundOnceItsProcessHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := plain{memkv.New(memkv.Options{})}
		// One journal line is refused, and no read of a record after it is answered.
		var armed, away atomic.Bool
		s := filtered{store, func(op *kv.Op) bool {
			if strings.HasPrefix(op.Key, "line:") && op.Kind == kv.Append && armed.CompareAndSwap(true, false) {
				away.Store(true)
				return true
			}
			return away.Load() && strings.HasPrefix(op.Key, "r:")
		}}
		p, q := openOne(s, ranking.NoTies), openOne(store, ranking.NoTies)
		must(t, p.Create(ctx, &article{ID: "a", Stock: 3}))
		armed.Store(true)
		if _, err := p.Update(ctx, "a", func(v *article) error { v.Stock = 5; return nil }); !errors.Is(err, kv.ErrUnavailable) {
			t.Fatal(err)
		}
		closing, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		if p.db.Close(closing) == nil {
			t.Error("all is cleaned up")
		}
		for range 4 {
			time.Sleep(time.Minute)
			_ = q.db.Repair(ctx)
		}
		if report, err := q.TopStock.Verify(ctx); report.Pending > 0 || err != nil {
			t.Errorf("%+v, %v", report, err)
		}
		must(t, q.db.Close(ctx))
	})
}
