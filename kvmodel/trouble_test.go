package kvmodel_test

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// troubled is a store in a file that may be damaged.
type troubled struct {
	kv.Store
	trouble *atomic.Pointer[error]
}

func (s troubled) Powers() kv.Powers {
	return kv.Powers{Disk: func() kv.Disk { return kv.Disk{Trouble: *s.trouble.Load()} }}
}

func TestDB_LogsTroubleWithItsFileNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log proof.Log
		var trouble atomic.Pointer[error]
		set := func(err error) { trouble.Store(&err) }
		set(errors.New("mkdir /no: no such file or directory"))
		db := open(t, troubled{memkv.New(memkv.Options{}), &trouble}, kvmodel.Log(slog.New(slog.NewTextHandler(&log, nil))))
		kvmodel.NewRecords(db, noteSchema())
		counts := func(wantWarnings, wantOver int) {
			t.Helper()
			synctest.Wait()
			warnings := strings.Count(log.String(), `level=WARN msg="ringtree: the store's file has a problem; retrying"`)
			over := strings.Count(log.String(), "the store's file works again")
			if warnings != wantWarnings || over != wantOver {
				t.Errorf("after %v: %d warnings and %d times over, want %d and %d:\n%s", time.Now(), warnings, over, wantWarnings, wantOver, log.String())
			}
		}
		time.Sleep(time.Minute)
		counts(1, 0)
		time.Sleep(10 * time.Minute)
		counts(2, 0)
		set(nil)
		time.Sleep(time.Minute)
		counts(2, 1)
		must(t, db.Close(t.Context()))
	})
}
