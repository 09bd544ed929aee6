package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestStats_CountWhatWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := closing(t, open(t, memkv.New(memkv.Options{})))
		free := make(chan struct{})
		for range work.AtOnce + 7 {
			db.Later(t.Context(), func(context.Context) error { <-free; return nil })
		}
		got := db.Stats()
		if got.Background != work.AtOnce+7 || got.Queued != 7 || got.Room != 1000 {
			t.Errorf("%d in the background, %d queued of %d; want %d, 7, 1,000", got.Background, got.Queued, got.Room, work.AtOnce+7)
		}
		close(free)
		must(t, db.Flush(t.Context()))
		if got := db.Stats(); got.Background != 0 || got.Queued != 0 {
			t.Errorf("at the end %+v", got)
		}
	})
}

func TestStats_HaveADiskWhereTheStoreHasOne(t *testing.T) {
	if d := closing(t, open(t, memkv.New(memkv.Options{}))).Stats().Disk; d != nil {
		t.Errorf("in memory: want none, got %+v", d)
	}
	file, err := boltkv.Open(filepath.Join(t.TempDir(), "a.db"), boltkv.Options{})
	must(t, err)
	db := closing(t, open(t, file))
	proof.Done(t)(kv.One(t.Context(), db.Store(), kv.OpSet("a", nil)))
	if d := db.Stats().Disk; d == nil || d.Commits == 0 {
		t.Errorf("in a file: want the commits, got %+v", d)
	}
}

func TestStats_SayForHowLongTheOldestChangeIsIncomplete(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p := start(t, plain(mem)).ends(t)
		var fails atomic.Bool
		fails.Store(true)
		p.OnChange(func(context.Context, kvmodel.Change[note, string]) error {
			if fails.Load() {
				return errOfMine
			}
			return nil
		})
		wantSame(t, 0, p.db.Stats().Oldest, "the oldest change before any")
		must(t, p.Create(ctx, &note{ID: "a", Text: "1"}))
		wait(10 * time.Second)
		must(t, p.Create(ctx, &note{ID: "b", Text: "1"}))
		wait(10 * time.Second)
		wantSame(t, 20*time.Second, p.db.Stats().Oldest.Round(time.Second), "the oldest change")
		fails.Store(false)
		must(t, p.db.Flush(ctx))
		if got := p.db.Stats(); got.Oldest != 0 || got.Lines != 0 {
			t.Errorf("at the end: %v, %d lines", got.Oldest, got.Lines)
		}
	})
}

func TestStats_NameTheIndexesThatNeedARebuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		first := deploy(t, &site{Store: mem})
		must(t, first.Create(t.Context(), &note{ID: "1", Text: "one", Code: "c"}))
		first.undeploy(t)
		v := deploy(t, &site{Store: mem}, "Code")
		defer v.undeploy(t)
		proof.Ends(t, kvmodel.ErrNeedsRebuild)(v.by["Code"].Find(t.Context(), "c"))
		wantSame(t, []string{"Note.ByCode"}, v.db.Stats().Unbuilt, "unbuilt")
		must(t, v.Rebuild(t.Context()))
		v.finds(t, "Code", "c", "1")
		wantLen(t, 0, v.db.Stats().Unbuilt, "unbuilt after a rebuild")
	})
}

func TestStats_CountFailuresByKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := open(t, memkv.New(memkv.Options{}), quiet())
		for _, err := range []error{
			kv.ErrLost, kv.ErrUnclear, kv.Unavailable(context.DeadlineExceeded), kv.ErrUnavailable,
			kvmodel.ErrCorrupt, kv.ErrConflict, context.DeadlineExceeded, errOfMine, kvmodel.ErrNotYet,
		} {
			db.Later(t.Context(), func(context.Context) error { return err })
		}
		must(t, db.Flush(t.Context()))
		want := map[string]int{"lost": 1, "unclear": 1, "unavailable": 2, "corrupt": 1, "conflict": 1, "late": 1, "other": 1}
		wantSame(t, want, db.Stats().Failures, "failures")
		wantSame(t, 8, db.Stats().Failed, "failures")
		must(t, db.Close(t.Context()))
	})
}

// A failure is logged at once, and then once a second.
func TestLog_WhatFailsAfterRepliesIsALineASecond(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		var log proof.Log
		p := start(t, plain(mem), logTo(&log)).ends(t)
		p.OnChange(func(context.Context, kvmodel.Change[note, string]) error { return errOfMine })
		for i := range 30 {
			must(t, p.Create(ctx, &note{ID: fmt.Sprint(i), Text: strings.Repeat("x", 1000)}))
			wait(100 * time.Millisecond)
		}
		wait(2 * time.Second)
		lines := log.Lines()
		if len(lines) < 4 || len(lines) > 6 {
			t.Errorf("%d lines in 5 seconds:\n%s", len(lines), strings.Join(lines, "\n"))
		}
		want := `level=WARN msg="ringtree: work after a reply failed" times=1 kind=other err="Note \"0\": OnChange: of mine" model=Note`
		wantSame(t, want, lines[0], "first line")
		sum := 0
		for _, line := range lines {
			_, times, _ := strings.Cut(line, " times=")
			n, _ := strconv.Atoi(strings.Fields(times)[0])
			sum += n
		}
		if failed := p.db.Stats().Failed; sum != failed || sum < 30 {
			t.Errorf("the lines count %d of %d failures:\n%s", sum, failed, strings.Join(lines, "\n"))
		}
		p.db.Later(ctx, func(context.Context) error { return kv.ErrLost })
		_ = p.db.Flush(ctx)
		before := len(log.Lines())
		_ = p.db.Close(ctx)
		if after := len(log.Lines()); after > before+1 {
			t.Errorf("Close has logged %d lines", after-before)
		}
	})
}

var named = map[string]error{
	"ErrNotFound": kvmodel.ErrNotFound, "ErrExists": kvmodel.ErrExists, "ErrConflict": kvmodel.ErrConflict, "ErrInvalid": kvmodel.ErrInvalid,
	"ErrTooLarge": kvmodel.ErrTooLarge, "ErrUnavailable": kvmodel.ErrUnavailable, "ErrUnclear": kvmodel.ErrUnclear, "ErrLost": kvmodel.ErrLost,
	"ErrNeedsRebuild": kvmodel.ErrNeedsRebuild, "ErrCorrupt": kvmodel.ErrCorrupt, "ErrBadCursor": kvmodel.ErrBadCursor, "ErrReadOnly": kvmodel.ErrReadOnly,
	"ErrUnknownFormat": kvmodel.ErrUnknownFormat,
}

func TestHTTPStatus_IsThatOfTheTableInTheDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/data-classes.md")
	must(t, err)
	rows := regexp.MustCompile("(?m)^\\| `(Err\\w+)` \\|.*\\| (\\d+) \\|$").FindAllStringSubmatch(string(page), -1)
	for _, row := range rows {
		want, _ := strconv.Atoi(row[2])
		if got := kvmodel.HTTPStatus(fmt.Errorf("here: %w", named[row[1]])); named[row[1]] == nil || got != want || http.StatusText(got) == "" {
			t.Errorf("%s is %d, want %d", row[1], got, want)
		}
	}
	proof.Equal(t, len(rows), len(named), "the page")
}

func TestHTTPStatus_OfJoinedErrorsTheGravestCounts(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 200},
		{errors.New("something else"), 500},
		{&kvmodel.TakenError{}, 409},
		{kvmodel.Problems{"slug": "It is empty."}, 422},
		{kv.Join(kvmodel.ErrNotFound, kv.ErrUnavailable), 503},
		{kv.Join(&kvmodel.ItemError{Index: 1, Err: kvmodel.ErrExists}, &kvmodel.ItemError{Index: 2, Err: kvmodel.ErrInvalid}), 422},
		{fmt.Errorf("%w: %w", kv.ErrUnclear, context.DeadlineExceeded), 503},
		{context.Canceled, 503},
	} {
		proof.Equal(t, kvmodel.HTTPStatus(c.err), c.want, "%v", c.err)
	}
}

func TestProblemsOf_SaysWhatIsWrongWithFields(t *testing.T) {
	p := kvmodel.Problems{}
	p.Add("Title", "It is empty.")
	p.Add("title", "It is too long.")
	p.Add("text", "")
	invalid := fmt.Errorf("%w: %w", kvmodel.ErrInvalid, p.Err())
	taken := &kvmodel.TakenError{Model: "Page", Index: "BySlug", Fields: []string{"Slug"}, Value: "tea"}
	both := &kvmodel.TakenError{Model: "Page", Index: "BySitePath", Fields: []string{"Site", "Path"}, Value: "a:b"}
	for _, c := range []struct {
		err  error
		want kvmodel.Problems
	}{
		{invalid, kvmodel.Problems{"title": "It is empty."}},
		{fmt.Errorf("create: %w", taken), kvmodel.Problems{"slug": "“tea” is taken."}},
		{both, kvmodel.Problems{"site": "These are taken together.", "path": "These are taken together."}},
		{errors.Join(invalid, taken), kvmodel.Problems{"title": "It is empty.", "slug": "“tea” is taken."}},
		{kvmodel.ErrNotFound, kvmodel.Problems{}},
		{nil, kvmodel.Problems{}},
	} {
		wantSame(t, c.want, kvmodel.ProblemsOf(c.err), "%v", c.err)
	}
	proof.Is(t, (kvmodel.Problems{}).Err(), nil)
}

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
	proof.Is(t, err, kvmodel.ErrInvalid)
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
