package kvmodel_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// outage fails until it is over.
type outage struct{ over atomic.Bool }

func (o *outage) err() error {
	if o.over.Load() {
		return nil
	}
	return errOfMine
}

// overload adds failing work to db until db refuses more.
func overload(ctx context.Context, db *kvmodel.DB, away *outage) {
	for db.Surely(ctx, func(context.Context) error { return away.err() }) == nil {
	}
	_ = db.Flush(ctx)
}

func TestIntent_IsTriedAgainHoweverMuchElseHasFailed(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		db := closing(t, open(t, plain(mem)))
		away := new(outage)
		intent := kvmodel.NewIntent(db, "move", func(context.Context, move) error { return away.err() })
		overload(ctx, db, away)
		wantErr(t, intent.Do(ctx, move{}), kvmodel.ErrUnclear)
		if err := db.Flush(ctx); err == nil {
			t.Error("Flush says nothing of the intent that has not ended")
		}
		away.over.Store(true)
		wait(20 * time.Second)
		if s := db.Stats(); len(s.Intents) != 0 || s.Lines != 0 {
			t.Errorf("when the outage is over: %+v, %d lines; want none", s.Intents, s.Lines)
		}
		must(t, db.Flush(ctx))
	})
}

// Work for changes beyond the limit of a process is left to repair, which finds it by the lines.
// Flush reports it.
func TestOnChange_IsCalledForAllChangesOfAnOutage(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p := start(t, plain(mem)).ends(t)
		away := new(outage)
		var heard atomic.Int64
		p.OnChange(func(context.Context, kvmodel.Change[note, string]) error {
			if err := away.err(); err != nil {
				return err
			}
			heard.Add(1)
			return nil
		})
		must(t, p.Create(ctx, &note{ID: "first", Text: "x"}))
		wait(10 * time.Minute) // The journal is no longer new.
		overload(ctx, p.db, away)
		const n = 10
		for i := range n {
			must(t, p.Create(ctx, &note{ID: fmt.Sprint(i), Text: "x"}))
		}
		if err := p.db.Flush(ctx); err == nil {
			t.Error("Flush says nothing of what was given up")
		}
		away.over.Store(true)
		wait(7 * time.Minute) // A journal is left when it is five minutes old.
		if got := heard.Load(); got < n+1 {
			t.Errorf("%d changes of %d were heard", got, n+1)
		}
		if s := p.db.Stats(); s.Lines != 0 || s.Oldest != 0 {
			t.Errorf("%d lines are open, the oldest for %v", s.Lines, s.Oldest)
		}
	})
}

// A long outage leaves a few journals to repair, not many.
func TestJournal_AnOutageLeavesFewJournals(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p := start(t, plain(mem)).ends(t)
		away := new(outage)
		p.OnChange(func(context.Context, kvmodel.Change[note, string]) error { return away.err() })
		overload(ctx, p.db, away)
		for i := range 60 {
			must(t, p.Create(ctx, &note{ID: fmt.Sprint(i), Text: "x"}))
			wait(10 * time.Second)
		}
		if got := keys(mem, "out"); len(got) > 3 {
			t.Errorf("after ten minutes there are %d journals, want one for each five", len(got))
		}
		away.over.Store(true)
		wait(10 * time.Minute)
		if s := p.db.Stats(); s.Lines != 0 || s.Waiting != 0 {
			t.Errorf("%d lines are open, and %d works wait", s.Lines, s.Waiting)
		}
	})
}

// Deletions beyond the number that a process remembers for an hour are cleaned at once, even with a
// full queue.
func TestForget_NoDeletionIsForgottenWhereTheQueueIsFull(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		const kept, n = 4, 10
		kvmodel.KeepDeletions(t, kept)
		p := start(t, plain(mem)).ends(t)
		ids := make([]string, n)
		records := make([]*note, n)
		for i := range n {
			ids[i] = fmt.Sprint(i)
			records[i] = &note{ID: ids[i], Text: "x", Code: ids[i]}
		}
		must(t, p.CreateMulti(ctx, records))
		must(t, p.DeleteMulti(ctx, ids[:kept]))
		must(t, p.db.Flush(ctx))
		free := make(chan struct{})
		for p.db.Soon(func(context.Context) error { <-free; return nil }) {
		}
		for _, id := range ids[kept:] {
			must(t, p.Delete(ctx, id)) // A4 is done before the reply.
		}
		close(free)
		must(t, p.db.Flush(ctx))
		wait(2 * time.Hour)
		for _, id := range ids {
			r, err := kv.One(ctx, mem, kv.OpGet("r:Note:"+id))
			must(t, err)
			env, err := envelope.Decode(r.Value)
			must(t, err)
			if len(env.Lost) > 0 {
				t.Fatalf("the tombstone of %s still names %v", id, env.Lost)
			}
		}
	})
}
