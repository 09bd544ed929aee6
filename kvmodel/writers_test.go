package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// onlyWriter returns the only other process, as reader sees it.
func onlyWriter(t *testing.T, ctx context.Context, reader *process) kvmodel.Writer {
	t.Helper()
	all, err := reader.db.Writers(ctx)
	must(t, err)
	if len(all) != 1 {
		t.Fatalf("writers %+v, want one", all)
	}
	return all[0]
}

func TestWriters_SayWhereTheyRunAndOfWhichRelease(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		began := time.Now()
		writer := start(t, plain(mem), kvmodel.Release("r 17")).ends(t)
		must(t, writer.notes.Create(ctx, &note{ID: "n1", Text: "one"}))
		wait(3 * time.Hour)
		reader := start(t, plain(mem), kvmodel.ReadOnly()).ends(t)
		w := onlyWriter(t, ctx, reader)
		host, _ := os.Hostname()
		if o := w; o.Host != host || o.PID != os.Getpid() || o.Release != "r 17" || !o.Since.Equal(began.Truncate(time.Second)) {
			t.Errorf("%+v", o)
		}
		if got := w.Called(time.Now()); !strings.HasSuffix(got, " (release r 17, since 3 h)") {
			t.Errorf("it is called %q", got)
		}
	})
}

func TestRebuild_NamesTheProcessThatItWaitsForByWhereItRuns(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := shared{plain(mem)}
		old := deploy(t, s)
		stop := make(chan struct{})
		// An incomplete change keeps the journal alive.
		old.OnChange(func(context.Context, kvmodel.Change[note, string]) error { <-stop; return nil })
		must(t, old.Create(ctx, &note{ID: "a", Text: "x"}))
		time.Sleep(3 * time.Second)
		next := deploy(t, s, "Code")
		err := next.Rebuild(ctx)
		want := fmt.Sprintf("pid %d (since 1 min) writes Note with other indexes: end it first", os.Getpid())
		if !errors.Is(err, kvmodel.ErrNeedsRebuild) || !strings.Contains(err.Error(), want) {
			t.Errorf("want an ErrNeedsRebuild that says %q, got %v", want, err)
		}
		close(stop)
		old.undeploy(t)
		next.undeploy(t)
	})
}

func TestOpen_RefusesAReleaseWithALongName(t *testing.T) {
	_, err := kvmodel.Open(memkv.New(memkv.Options{}), kvmodel.Release(strings.Repeat("x", 65)))
	if !errors.Is(err, kvmodel.ErrInvalid) {
		t.Errorf("want an ErrInvalid, got %v", err)
	}
}

func TestWriters_OneThatDiedIsRepairedOnceAnotherHasFinishedItsLines(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		dieMoving(t, ctx, mem)
		reader := start(t, plain(mem), kvmodel.ReadOnly()).ends(t)
		if w := onlyWriter(t, ctx, reader); w.Lines == 0 || !w.Repaired.IsZero() || w.Own {
			t.Errorf("after the crash: %+v", w)
		}
		next := start(t, plain(mem)).ends(t)
		wait(time.Minute)
		if w := onlyWriter(t, ctx, reader); w.Lines == 0 || w.Repaired.IsZero() || w.Repaired.After(time.Now()) {
			t.Errorf("after the repair: %+v", w)
		}
		wait(2 * time.Hour)
		if all, err := reader.db.Writers(ctx); err != nil || len(all) > 0 {
			t.Errorf("two hours later: %+v, %v", all, err)
		}
		must(t, next.db.Close(ctx))
	})
}
