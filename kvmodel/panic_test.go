package kvmodel_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// frail is an index without entries that panics on the record "b".
type frail struct {
	*hurt
	step string // the step that panics

	mu       sync.Mutex
	mended   bool
	repaired []string
}

func (f *frail) Places(rec plug.Record) []string {
	f.panicAt("Places", rec.(*note).ID)
	return f.hurt.Places(rec)
}

func (f *frail) Repair(_ context.Context, _ kv.Store, rec *plug.Seen, _ []string) error {
	f.panicAt("Repair", rec.ID)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.repaired = append(f.repaired, rec.ID)
	return nil
}

func (f *frail) panicAt(step, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if step == f.step && id == "b" && !f.mended {
		panic("boom")
	}
}

// set returns the records repaired so far, and sets whether f panics from now on.
func (f *frail) set(mended bool) (repaired []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mended = mended
	slices.Sort(f.repaired)
	return slices.Compact(f.repaired)
}

func TestRepair_APanicInOneLineIsLoggedAndHoldsUpNoOther(t *testing.T) {
	for step, want := range map[string]string{
		"Repair": `Note \"b\": the repair of Note.Hurt panicked: boom" model=Note index=Hurt`,
		"Places": `the repair of Note \"b\" panicked: boom" model=Note`,
	} {
		t.Run(step, func(t *testing.T) {
			inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
				alone := powers{mem, kv.Powers{Alone: true}}
				dead := start(t, alone).ends(t)
				dead.Plug(new(hurt), func(plug.Host) {})
				for _, id := range []string{"a", "b", "c"} {
					must(t, dead.Create(ctx, &note{ID: id, Text: "x", Code: id}))
				}
				dead.life.kill()

				var log proof.Log
				next := start(t, alone, kvmodel.Log(slog.New(slog.NewTextHandler(&log, nil)))).ends(t)
				index := &frail{hurt: new(hurt), step: step}
				next.Plug(index, func(plug.Host) {})
				wait(time.Second)
				proof.Contains(t, log.String(), want)
				wantSame(t, []string{"a", "c"}, index.set(true), "what was repaired beside the line that panics")
				wait(15 * time.Second)
				wantSame(t, []string{"a", "b", "c"}, index.set(true), "what was repaired at the next look")
				wantSame(t, []string{"procs"}, keys(mem, journals...), "what is left of journals")
			})
		})
	}
}

func TestBuild_APanicIsItsErrorAndItIsTriedAgain(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		first := start(t, aloneOn(mem))
		must(t, first.Create(ctx, &note{ID: "b", Text: "x"}))
		must(t, first.db.Close(ctx))

		next := start(t, aloneOn(mem)).ends(t)
		index := &frail{hurt: new(hurt), step: "Places"}
		next.Plug(index, func(plug.Host) {})
		wait(time.Second)
		if err := next.Rebuild(ctx); err == nil || err.Error() != "the build of Note panicked: boom" {
			t.Errorf("rebuild: %v, want the panic", err)
		}
		wantSame(t, []string{"Note.Hurt"}, next.db.Stats().Unbuilt, "what is not built")
		index.set(true)
		wait(time.Minute)
		if unbuilt := next.db.Stats().Unbuilt; len(unbuilt) > 0 {
			t.Errorf("%q are not built a minute after the cause has gone", unbuilt)
		}
	})
}
