package inspect_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestDoctor_NamesARecordThatComesNearTheLimit(t *testing.T) {
	for bytes, want := range map[int]kv.Finding{
		1:         kv.Find(kv.Fine, "tags fit the data"),
		600 << 10: kv.Find(kv.Hurts, "Note: a record has 600 KB of at most 1016 KB; move its largest field to a model of its own"),
	} {
		mem := memkv.New(memkv.Options{})
		db := open(t, shared(mem))
		must(t, bareNotes(db).Create(t.Context(), &note{ID: "n1", Title: strings.Repeat("x", bytes)}))
		must(t, db.Close(t.Context()))
		db = open(t, shared(mem), kvmodel.ReadOnly())
		bareNotes(db)
		said, err := inspect.New(db).Doctor(t.Context())
		must(t, err)
		must(t, db.Close(t.Context()))
		if last := said[len(said)-1]; last != want {
			t.Errorf("it says %v", said)
		}
	}
}

type mortal struct {
	kv.Store
	dead atomic.Bool
}

func (m *mortal) Powers() kv.Powers { return kv.PowersOf(m.Store) }
func (m *mortal) Close() error      { return nil }

func (m *mortal) Do(ctx context.Context, ops []kv.Op) error {
	if !m.dead.Load() {
		return m.Store.Do(ctx, ops)
	}
	for i := range ops {
		ops[i].Result = kv.Result{Err: kv.ErrUnclear}
	}
	return kv.Unanswered(ops)
}

func dieWriting(t *testing.T, mem *memkv.Store) {
	t.Helper()
	life := &mortal{Store: shared(mem)}
	db := open(t, life)
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	all := newNotes(db)
	all.OnChange(func(context.Context, kvmodel.Change[note, string]) error {
		life.dead.Store(true)
		return errors.New("dead")
	})
	must(t, all.Create(t.Context(), &note{ID: "n7", Title: "Half"}))
	synctest.Wait()
}

func hearing(c inspect.Config) inspect.Config {
	c.Models = func(db *kvmodel.DB) []kvmodel.Model {
		all := newNotes(db)
		all.OnChange(func(context.Context, kvmodel.Change[note, string]) error { return nil })
		return []kvmodel.Model{all}
	}
	return c
}

// The change is not complete before end is called.
func changing(t *testing.T, mem *memkv.Store) (end func()) {
	t.Helper()
	db := open(t, shared(mem))
	all := newNotes(db)
	release := make(chan struct{})
	all.OnChange(func(context.Context, kvmodel.Change[note, string]) error { <-release; return nil })
	must(t, all.Create(t.Context(), &note{ID: "n7", Title: "Half"}))
	return func() {
		close(release)
		must(t, db.Close(t.Context()))
	}
}

func TestStatus_AChangeOfAProcessThatLivesIsNotLateAndNotRepaired(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := furnished(t)
		end := changing(t, mem)
		time.Sleep(5 * time.Minute)
		run(t, mem, "status").want(t, 0, "1 change in its journal", "all is well")
		run(t, mem, "check", "--repair", "--yes").wantOut(t, 0, "there is nothing to repair\n")
		end()
	})
}

// dieSendingIn leaves an intent of a process that has died.
func dieSendingIn(t *testing.T, mem *memkv.Store) {
	t.Helper()
	life := &mortal{Store: shared(mem)}
	db := open(t, life)
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	send := kvmodel.NewIntent(db, "send", func(context.Context, sending) error {
		life.dead.Store(true)
		return errors.New("dead")
	})
	if err := send.Do(t.Context(), sending{To: "ann@example.org", Text: "hello"}); !errors.Is(err, kvmodel.ErrUnclear) {
		t.Fatal(err)
	}
}

func TestStatus_IntentsOfAJournalThatWasRepairedHaveEnded(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := furnished(t)
		dieSendingIn(t, mem)
		next := open(t, shared(mem))
		newNotes(next)
		kvmodel.NewIntent(next, "send", func(context.Context, sending) error { return nil })
		time.Sleep(2 * time.Minute)
		said := run(t, mem, "status")
		said.want(t, 0, "dead, repaired", "all is well")
		if strings.Contains(said.out, "intents") {
			t.Errorf("an intent that has ended is shown:\n%s", said.out)
		}
		must(t, next.Close(t.Context()))
	})
}

func TestRepair_FinishesWhatTheDeadHaveLeftAndStatusSaysSo(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := furnished(t)
		dieWriting(t, mem)
		within := func(limit time.Duration, what func()) {
			t.Helper()
			began := time.Now()
			if what(); time.Since(began) > limit {
				t.Errorf("it took %v", time.Since(began))
			}
		}
		within(time.Second, func() { run(t, mem, "status").want(t, 0, "1 change in its journal", "all is well") }) // It may be finished soon.
		time.Sleep(2 * time.Minute)
		run(t, mem, "status").want(t, 1, "dead, left 1 change", "is dead, and no other has finished its 1 change", "next       db check --repair")
		run(t, mem, "check", "--repair").want(t, 5, "is dead, and left 1 change", "there is no terminal to ask on")
		run(t, mem, "check", "--repair", "--dry-run").want(t, 0, "nothing was written")
		run(t, mem, "check", "--repair", "--yes").want(t, 4, "1 change is left", "it had handlers of Note")
		within(time.Minute, func() {
			runIn(t.Context(), hearing(on(shared(mem), "check", "--repair", "--yes"))).want(t, 0, "they are finished", "there is nothing to repair")
		})
		run(t, mem, "check", "--repair", "--yes").wantOut(t, 0, "there is nothing to repair\n")
		run(t, mem, "get", "Note", "n7").want(t, 0)
		run(t, mem, "check").want(t, 0)
		said := run(t, mem, "status")
		said.want(t, 0, "dead, repaired", "all is well")
		if strings.Contains(said.out, "in its journal") {
			t.Errorf("a finished change is shown:\n%s", said.out)
		}
	})
}

func TestRepair_OneThatIsStoppedSaysHowToGoOn(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := furnished(t)
		dieWriting(t, mem)
		time.Sleep(2 * time.Minute)
		ctx, cancel := contextFor(t, 10*time.Second)
		defer cancel()
		runIn(ctx, on(shared(mem), "check", "--repair", "--yes")).want(t, 4, "stopped; to start over: db check --repair --yes")
	})
}

func TestStatus_DeepSaysWhatTheStoreCanDo(t *testing.T) {
	mem := furnished(t)
	run(t, mem, "status", "--deep").want(t, 0, "ok         test://here answers", "ok         the store can list its keys", "a trip takes ", "all is well")
	runIn(t.Context(), on(unkeyed(mem), "status", "--deep")).want(t, 1, "warning    the store cannot list its keys")
	run(t, mem, "status", "--deep").want(t, 0, "unknown    the settings of the store: it does not report them")
	s := powers{mem, kv.Powers{Unless: true, Keys: kv.PowersOf(mem).Keys, Findings: func(context.Context) []kv.Finding {
		return []kv.Finding{kv.Find(kv.Fine, "a is well"), kv.Find(kv.Hurts, "b hurts"), kv.Find(kv.Unknown, "c is not known")}
	}}}
	runIn(t.Context(), on(s, "status", "--deep")).want(t, 1, "ok         a is well\nwarning    b hurts\nunknown    c is not known\n")
	for _, o := range run(t, mem, "status", "--deep", "--format=json").objects(t)[1:] {
		if o["type"] != "finding" || o["text"] == "" {
			t.Errorf("%v", o)
		}
	}
}

type sending struct{ To, Text string }

func TestStatus_ShowsIntentsThatHaveNotEnded(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := furnished(t)
		dieSendingIn(t, mem)
		time.Sleep(time.Hour)
		run(t, mem, "status").want(t, 1, "1 intent has not ended after a minute; the oldest, send, began 1h", "intents    send, began 1h0m ago Text=*** To=***")
		run(t, mem, "status", "--private").want(t, 1, `To="ann@example.org"`)
		all := run(t, mem, "status", "--format=json").objects(t)[0]["intents"].([]any)
		if o := all[0].(map[string]any); len(all) != 1 || o["intent"] != "send" || o["args"] != nil {
			t.Errorf("%v", all)
		}
	})
}
