package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

const patience = 5 * time.Second

// away is a store on a server that may accept requests and never answer, or answer late. Like the
// stores on real servers, it ends a trip without a deadline after its patience.
type away struct {
	kv.Store
	hangs atomic.Bool
	takes atomic.Int64
	trips atomic.Int64
	hear  func(kv.Outage)
}

func (a *away) Powers() kv.Powers {
	return kv.Powers{Patience: patience, Outages: func(hear func(kv.Outage)) { a.hear = hear }}
}

func (a *away) Do(ctx context.Context, ops []kv.Op) error {
	a.trips.Add(1)
	ctx, cancel := kv.Patient(ctx, patience)
	defer cancel()
	if err := kv.Ended(ctx); err != nil {
		return kv.Fail(ops, kv.Unavailable(err))
	}
	wait := time.Duration(a.takes.Load())
	if a.hangs.Load() {
		wait = time.Hour
	}
	select {
	case <-time.After(wait):
		return a.Store.Do(ctx, ops)
	case <-ctx.Done():
	}
	for i := range ops {
		ops[i].Result.Err = kv.Unavailable(kv.Ended(ctx))
		if ops[i].Kind.Writes() {
			ops[i].Result.Err = errors.Join(kv.ErrUnclear, kv.Ended(ctx))
		}
	}
	return kv.Unanswered(ops)
}

// onAway runs test with notes, which have an index, on a store that may be away.
func onAway(t *testing.T, test func(t *testing.T, a *away, r *notes)) {
	synctest.Test(t, func(t *testing.T) {
		a := &away{Store: memkv.New(memkv.Options{})}
		db := open(t, a)
		r := kvmodel.NewRecords(db, noteSchema())
		index.NewUnique(r, codes)
		must(t, r.Create(t.Context(), &note{ID: "a", Text: "a", Code: "a"}))
		must(t, db.Flush(t.Context()))
		a.trips.Store(0)
		test(t, a, r)
		a.hangs.Store(false)
		a.takes.Store(0)
		proof.Is(t, db.Close(context.Background()), nil)
	})
}

func TestPatience_ACallOnAStoreThatHangsCostsOne(t *testing.T) {
	calls := maps.Clone(writes)
	delete(calls, "CreateMulti") // It may take one for each of its trips.
	calls["Get"] = func(ctx context.Context, r *notes) error { _, err := r.Get(ctx, "a"); return err }
	calls["SideBySide"] = func(ctx context.Context, r *notes) error {
		get := func(ctx context.Context) error { return calls["Get"](ctx, r) }
		return r.DB().SideBySide(ctx, get, get)
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			onAway(t, func(t *testing.T, a *away, r *notes) {
				a.hangs.Store(true)
				start := time.Now()
				err := call(context.Background(), r)
				proof.Equal(t, time.Since(start), patience, "it")
				if !kv.Failed(err) || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("it ended in %v, want a failure that is not of the caller's deadline", err)
				}
				a.hangs.Store(false)
			})
		})
	}
}

func TestPatience_ACallForManyOnAStoreThatHangsEndsAfterItsFirstBatches(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Second} {
		t.Run(fmt.Sprint("deadline ", limit), func(t *testing.T) {
			onAway(t, func(t *testing.T, a *away, r *notes) {
				const n = 10_000
				vs, _ := numberedNotes(n)
				ctx, most := context.Background(), 3*patience
				if limit > 0 {
					limited, cancel := context.WithTimeout(ctx, limit)
					defer cancel()
					ctx, most = limited, limit
				}
				a.hangs.Store(true)
				start := time.Now()
				err := r.CreateMulti(ctx, vs)
				if took := time.Since(start); took > most {
					t.Errorf("it took %v, want %v at most", took, most)
				}
				failed, why := 0, err
				for _, err := range kvmodel.Items(err) {
					if failed++; !kv.Failed(err) || errors.Is(err, context.DeadlineExceeded) != (limit > 0) {
						t.Fatalf("item %d ended in %v, want a failure that is of the caller's deadline if there is one", failed, err)
					}
					why = err
				}
				proof.Equal(t, failed, n, "failed items")
				if limit == 0 && !strings.Contains(why.Error(), "not tried, after") {
					t.Errorf("the last item says %v", why)
				}
				a.hangs.Store(false)
				must(t, r.DB().Flush(context.Background()))
				for i, err := range kvmodel.Items(r.CreateMulti(context.Background(), vs)) {
					if wantErr(t, err, kv.ErrExists); i >= 1000 {
						t.Errorf("record %d was tried before", i)
					}
				}
				wantLen(t, n+1, allIDs(t, context.Background(), r), "records")
			})
		})
	}
}

func TestPatience_TripsThatTakeLongShareOne(t *testing.T) {
	onAway(t, func(t *testing.T, a *away, r *notes) {
		a.takes.Store(int64(patience * 3 / 4))
		start := time.Now()
		err := r.Create(context.Background(), &note{ID: "b", Text: "b", Code: "b"})
		proof.Equal(t, time.Since(start), patience, "a Create")
		if !kv.Failed(err) {
			t.Errorf("it ended in %v", err)
		}
	})
}

func TestPatience_ACallKeepsADeadlineOfItsOwn(t *testing.T) {
	for _, limit := range []time.Duration{time.Second, time.Minute} {
		onAway(t, func(t *testing.T, a *away, r *notes) {
			a.hangs.Store(true)
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			start := time.Now()
			err := r.Create(ctx, &note{ID: "b", Text: "b", Code: "b"})
			proof.Equal(t, time.Since(start), limit, "with")
			wantErr(t, err, context.DeadlineExceeded)
			a.hangs.Store(false)
		})
	}
}

// logTo keeps the log, without times.
func logTo(log *proof.Log) kvmodel.Option {
	return kvmodel.Log(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
}

func TestLog_AnOutageIsLoggedWhenItBeginsAndWhenItIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &away{Store: memkv.New(memkv.Options{})}
		var log proof.Log
		db := open(t, a, kvmodel.Tenant("mine"), logTo(&log))
		since := time.Now()
		a.hear(kv.Outage{Server: "h:1", Since: since, Why: errors.New("no answer for 1s")})
		a.hear(kv.Outage{Server: "h:2", Since: since, Why: errors.New("refused")})
		wantSame(t, []string{"h:1", "h:2"}, db.Stats().Away, "servers that are away")
		time.Sleep(1234 * time.Millisecond)
		a.hear(kv.Outage{Server: "h:1", Since: since, Over: true})
		wantSame(t, []string{"h:2"}, db.Stats().Away, "servers that are away later")
		want := []string{
			`level=WARN msg="ringtree: waiting for a server of the store" server=h:1 what="no answer for 1s"`,
			`level=WARN msg="ringtree: waiting for a server of the store" server=h:2 what=refused`,
			`level=INFO msg="ringtree: a server of the store answers again" server=h:1 after=1.234s`,
		}
		wantSame(t, want, log.Lines(), "log")
		must(t, db.Close(context.Background()))
	})
}

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

// The records of one list are forgotten in one write of the list, not in a race of one write each.
func TestForget_ManyRecordsOfOneListAreForgottenTogether(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		const n = 200
		var swaps atomic.Int64
		db := open(t, kv.Trace(plain(mem), func(_ context.Context, trip kv.Trip) {
			for _, op := range trip.Ops {
				if op.Kind == kv.CompareAndSwap && strings.HasPrefix(op.Key, "l:Note:ByCode:x") {
					swaps.Add(1)
				}
			}
		}))
		defer db.Close(ctx)
		all := kvmodel.NewRecords(db, simpleNotes())
		list := index.NewLists(all, codes)
		var ids []string
		var records []*note
		for i := range n {
			ids = append(ids, fmt.Sprint(i))
			records = append(records, &note{ID: ids[i], Text: "x", Code: "x"})
		}
		must(t, all.CreateMulti(ctx, append(records, &note{ID: "stays", Text: "x", Code: "x"})))
		must(t, all.DeleteMulti(ctx, ids))
		must(t, db.Flush(ctx))
		swaps.Store(0)
		wait(2 * time.Hour)
		if s := db.Stats(); s.Failed > 0 || s.Waiting > 0 || swaps.Load() > 2 {
			t.Errorf("%d works failed, %d wait, and the list was written %d times: %v", s.Failed, s.Waiting, swaps.Load(), s.Failures)
		}
		if n, err := list.Of("x").Count(ctx); n != 1 || err != nil {
			t.Errorf("the list has %d records, %v; want 1", n, err)
		}
	})
}

// eachStumble calls f, under a fake clock, for each trip whose answer may be lost before the store
// goes away.
func eachStumble(t *testing.T, f func(t *testing.T, ctx context.Context, s *proof.Stumble)) {
	proof.EachStumble(t, func() kv.Store { return memkv.New(memkv.Options{}) }, func(t *testing.T, s *proof.Stumble) {
		synctest.Test(t, func(t *testing.T) { f(t, t.Context(), s) })
	})
}

// The process dies, and another one runs the intents that began.
func TestIntent_AnUnclearBegin_IsNeverReportedAsNotBegun(t *testing.T) {
	eachStumble(t, func(t *testing.T, ctx context.Context, s *proof.Stumble) {
		db := open(t, s)
		var here, there atomic.Int64
		intent := kvmodel.NewIntent(db, "move", func(ctx context.Context, _ move) error {
			here.Add(1)
			_, err := kv.One(ctx, db.Store(), kv.OpSet("x", nil))
			return err
		})
		must(t, intent.Do(ctx, move{From: "a"}))
		other := open(t, s.Below())
		kvmodel.NewIntent(other, "move", func(_ context.Context, m move) error {
			if m.From == "b" {
				there.Add(1)
			}
			return nil
		})
		synctest.Wait() // The first turn is given back.
		here.Store(0)
		s.Begin()
		ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		err := intent.Do(ctx, move{From: "b"})
		wait(5 * time.Minute) // It stays away, and counts as dead.
		if proof.Denies(err) && here.Load()+there.Load() > 0 {
			t.Errorf("it was carried out, %d times here and %d times there, after: %v", here.Load(), there.Load(), err)
		}
		_, _ = db.Close(context.Background()), other.Close(context.Background())
	})
}

// A change reported as not made was not made, and never will be.
func TestRecords_AnUnclearChange_IsNeverReportedAsNotMade(t *testing.T) {
	verbs := map[string]func(ctx context.Context, p *process) error{
		"Create": func(ctx context.Context, p *process) error {
			return p.Create(ctx, &note{ID: "new", Text: "x", Code: "new"})
		},
		"Update": func(ctx context.Context, p *process) error {
			_, err := p.Update(ctx, "old", func(n *note) error { n.Code = "new"; return nil })
			return err
		},
		"Delete": func(ctx context.Context, p *process) error { return p.Delete(ctx, "old") },
	}
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			eachStumble(t, func(t *testing.T, ctx context.Context, s *proof.Stumble) {
				p := start(t, s).ends(t)
				must(t, p.Create(ctx, &note{ID: "old", Text: "x", Code: "old"}))
				must(t, p.db.Flush(ctx))
				s.Begin()
				limited, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
				defer cancel()
				err := verb(limited, p)
				sent := slices.ContainsFunc(s.Lost(), func(key string) bool { return strings.HasPrefix(key, "r:Note:") })
				if errors.Is(err, kvmodel.ErrUnclear) && (errors.Is(err, kv.ErrUnavailable) || !sent) {
					t.Errorf("%v, though the commit was sent: %t; want an ErrUnclear alone, or none", err, sent)
				}
				wait(time.Second)
				must(t, s.Rise())
				wait(5 * time.Minute)
				old, oldErr := p.Get(ctx, "old")
				_, newErr := p.Get(ctx, "new")
				changed := oldErr != nil || old.Code != "old" || newErr == nil
				if proof.Denies(err) && changed || err == nil && !changed {
					t.Errorf("changed: %t, after: %v", changed, err)
				}
			})
		})
	}
}
