package kvmodel_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/index"
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
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
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
				if took := time.Since(start); took != patience {
					t.Errorf("it took %v, want %v", took, patience)
				}
				if !kv.Failed(err) || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("it ended in %v, want a failure that is not of the caller's deadline", err)
				}
				a.hangs.Store(false)
			})
		})
	}
}

func TestPatience_TripsThatTakeLongShareOne(t *testing.T) {
	onAway(t, func(t *testing.T, a *away, r *notes) {
		a.takes.Store(int64(patience * 3 / 4))
		start := time.Now()
		err := r.Create(context.Background(), &note{ID: "b", Text: "b", Code: "b"})
		if took := time.Since(start); took != patience {
			t.Errorf("a Create took %v, want %v", took, patience)
		}
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
			if took := time.Since(start); took != limit {
				t.Errorf("with %v it took %v", limit, took)
			}
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
