package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
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
	_, err = kv.One(t.Context(), db.Store(), kv.OpSet("a", nil))
	must(t, err)
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
		if _, err := v.by["Code"].Find(t.Context(), "c"); !errors.Is(err, kvmodel.ErrNeedsRebuild) {
			t.Errorf("Find: %v", err)
		}
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
