package inspect_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func file(t testing.TB, path string, args ...string) ran {
	t.Helper()
	c := on(nil, args...)
	c.URL, c.Open = "bolt:"+path, nil
	return runIn(t.Context(), c)
}

func appFile(t testing.TB) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "app.db")
	s := boltStore(t, "bolt:"+path+"?durability=unsynced")
	fill(t, powers{s, kv.PowersOf(s)})
	must(t, s.Close())
	return dir, path
}

func TestFile_EveryVerbTakesABoltStore(t *testing.T) {
	_, path := appFile(t)
	file(t, path, "status").want(t, 0, "store      bolt:"+path, "this one alone has the file", "all is well")
	file(t, path, "check").want(t, 0, "all is well")
	file(t, path, "get", "Note", "n1").want(t, 0, "Views    7 (a counter)")
	// The rest of the output depends on the disk.
	if r := file(t, path, "status", "--deep"); r.code > 1 || !strings.Contains(r.out, "one process has the store to itself") || !strings.Contains(r.out, " free, and the file takes ") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.errs)
	}
	file(t, path, "build", "--again", "--yes").want(t, 0, "Note: built")
	file(t, path, "recover").want(t, 0, "no loss to acknowledge")
}

func TestBackup_IsWholeAndCanBeRestored(t *testing.T) {
	dir, path := appFile(t)
	to, again := filepath.Join(dir, "backup"), filepath.Join(dir, "again.db")
	file(t, path, "backup", to, "--dry-run").want(t, 0, "dry run: ")
	file(t, path, "backup", to).want(t, 0, to+" is whole")
	file(t, path, "backup", to).want(t, 5, "exists")
	file(t, path, "verify", to).want(t, 0, to+" is whole")
	file(t, path, "restore", to, path).want(t, 5, "exists")
	file(t, path, "restore", to, again, "--dry-run").want(t, 0, to+" is whole")
	file(t, path, "restore", to, again, "--until", "2026-03-01T12:00:00Z").want(t, 2, "--until is for a shipped folder")
	file(t, path, "restore", to, "bolt:"+again).want(t, 0, again+" is the store as it was at ")
	file(t, again, "check").want(t, 0, "3 records", "all is well")
	if parts, _ := filepath.Glob(filepath.Join(dir, "*.part")); len(parts) > 0 {
		t.Errorf("left: %q", parts)
	}
}

func TestBackup_ToTheOutputIsTheSame(t *testing.T) {
	dir, path := appFile(t)
	r := file(t, path, "backup", "-")
	to := filepath.Join(dir, "backup")
	must(t, os.WriteFile(to, []byte(r.out), 0o600))
	file(t, path, "verify", to).want(t, 0, to+" is whole")
}

func TestVerify_OneThatIsCutShortIsNotWhole(t *testing.T) {
	dir, path := appFile(t)
	to := filepath.Join(dir, "backup")
	file(t, path, "backup", to).want(t, 0)
	must(t, os.Truncate(to, 100))
	file(t, path, "verify", to).want(t, 1, "damaged")
	file(t, path, "verify", filepath.Join(dir, "none")).want(t, 2, "no such file")
}

func TestBackup_AStoreWithoutAFileRefuses(t *testing.T) {
	run(t, furnished(t), "backup", filepath.Join(t.TempDir(), "b")).want(t, 5, "back it up with the tools of its server")
}

func TestCompact_TheFileIsSmallerAndHoldsTheSame(t *testing.T) {
	t.Parallel()
	_, path := appFile(t)
	s := boltStore(t, "bolt:"+path)
	large := make([]byte, 500_000)
	_, _ = rand.Read(large)
	for _, op := range []kv.Op{kv.OpSet("large", large), kv.OpDelete("large")} {
		proof.Done(t)(kv.One(t.Context(), s, op))
		must(t, s.Close())
		s = boltStore(t, "bolt:"+path)
	}
	file(t, path, "compact", path).want(t, 3, "it is open in another process")
	must(t, s.Close())
	before := sizeOf(t, path)
	file(t, path, "compact", path, "--dry-run").want(t, 0, "dry run: ")
	proof.Equal(t, sizeOf(t, path), before, "a dry run has made")
	file(t, path, "compact", "bolt:"+path).want(t, 0, path+": ")
	if got := sizeOf(t, path); got > before/2 {
		t.Errorf("of %d bytes %d are left", before, got)
	}
	file(t, path, "check").want(t, 0, "3 records", "all is well")
	file(t, path, "compact", path+".none").want(t, 2, "no such file")
}

func sizeOf(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Size()
}

func shippedFile(t testing.TB) (dir, shipped string) {
	t.Helper()
	dir = t.TempDir()
	shipped = filepath.Join(dir, "shipped")
	s := boltStore(t, "bolt:"+filepath.Join(dir, "app.db")+"?durability=unsynced&ship="+shipped)
	fill(t, powers{s, kv.PowersOf(s)})
	filled := time.Now()
	for done := false; !done; time.Sleep(10 * time.Millisecond) {
		at := s.(*boltkv.Store).Stats().Shipping
		done = at.Shipped.After(filled) && !at.Snapshot.IsZero()
	}
	must(t, s.Close())
	return dir, shipped
}

func TestRestore_TakesWhatWasShipped(t *testing.T) {
	dir, shipped := shippedFile(t)
	to := filepath.Join(dir, "again.db")
	file(t, "", "restore", shipped, to, "--dry-run").want(t, 0, "dry run: ")
	file(t, "", "restore", shipped, to).want(t, 0, "the snapshot of ")
	file(t, to, "check").want(t, 0, "3 records", "all is well")
	file(t, "", "restore", shipped, filepath.Join(dir, "later.db"), "--until", "2199-01-01T00:00:00Z").want(t, 1, "no later commit was shipped")
}

// The process was killed that long ago, while an intent failed.
func dieSending(t *testing.T, ago time.Duration) (path string) {
	t.Helper()
	dir, at := appFile(t)
	s := boltStore(t, "bolt:"+at)
	db, err := kvmodel.Open(s, kvmodel.Clock(func() time.Time { return time.Now().Add(-ago) }))
	must(t, err)
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	bareNotes(db)
	send := kvmodel.NewIntent(db, "send", func(context.Context, sending) error { return errors.New("no line") })
	if err := send.Do(t.Context(), sending{To: "ann"}); !errors.Is(err, kvmodel.ErrUnclear) {
		t.Fatal(err)
	}
	killed := t.TempDir()
	must(t, os.CopyFS(killed, os.DirFS(dir)))
	return filepath.Join(killed, "app.db")
}

func TestFile_ADeadProcessHoldsNoBuildUp(t *testing.T) {
	path := dieSending(t, 0)
	said := file(t, path, "status")
	said.want(t, 0, "dead, left 1 change", "all is well")
	if strings.Contains(said.out, "other indexes") {
		t.Errorf("a process that is dead writes nothing:\n%s", said.out)
	}
	said = file(t, path, "build", "--again", "--yes")
	said.want(t, 0, "Note: built")
	if strings.Contains(said.out, "waits for its end") {
		t.Errorf("it waits for a process that is dead:\n%s", said.out)
	}
}

func TestRepair_OfAnIntentThatFailsSaysSoAtOnce(t *testing.T) {
	path := dieSending(t, time.Hour)
	file(t, path, "status").want(t, 1, "1 intent has not ended after a minute; the oldest, send", "is dead, and no other has finished its 1 change")
	db, err := kvmodel.Open(boltStore(t, "bolt:"+path))
	must(t, err)
	newNotes(db)
	kvmodel.NewIntent(db, "send", func(context.Context, sending) error { return errors.New("no line yet") })
	stop, err := inspect.ServeWith(t.Context(), db, path)
	must(t, err)
	began := time.Now()
	file(t, path, "check", "--repair", "--yes").want(t, 1, "1 change is left", "the intent send fails, and is tried again every 15 seconds: no line yet")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it takes %v", took)
	}
	file(t, path, "status").want(t, 1, "the oldest, send", "no line yet")
	must(t, errors.Join(stop(), db.Close(context.Background())))
}
