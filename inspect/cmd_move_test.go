package inspect_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type stores map[string]*memkv.Store

func (s stores) run(t testing.TB, args ...string) ran {
	t.Helper()
	c := on(nil, args...)
	c.URL = "test:here"
	c.Open = func(_ context.Context, url string) (kv.Store, error) {
		return shared(s[strings.TrimPrefix(url, "test:")]), nil
	}
	return runIn(t.Context(), c)
}

func TestExport_IsImportedIntoAnotherStoreAndThenIdentical(t *testing.T) {
	inTime(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "notes.export")
		run(t, furnished(t), "export", file).want(t, 0, "Note: 3 records\n", "exported, with 0 items that belong to no record; checksum ")
		run(t, furnished(t), "export", file).want(t, 5, "exists")
		say(t, "verify", file).want(t, 0, "is whole: made at ", "3 of Note")
		to := memkv.New(memkv.Options{})
		run(t, to, "import", file).want(t, 5, "there is no terminal to ask on")
		run(t, to, "import", file, "--dry-run").want(t, 0, "dry run")
		if to.Len() > 0 {
			t.Error("something was written: ", to.Keys())
		}
		run(t, to, "import", file, "--yes").want(t, 0, "Note: 3 records\n", "imported")
		run(t, to, "list", "Note.ByTags/sea").want(t, 0, "n1", "n2")
		run(t, to, "verify", "--against", file).want(t, 0, "identical: ")
		run(t, to, "check").want(t, 0, "all is well")
		run(t, to, "import", file, "--yes").want(t, 5, "not empty", "--mode merge")
		run(t, to, "import", file, "--yes", "--mode=merge").want(t, 0, "imported")
		drop(t, to, "r:Note:n3")
		run(t, to, "verify", "--against", file).want(t, 1, "only there Note n3\n", "1 difference, ")
	})
}

func TestExport_OneThatIsCutIsRefusedWithWhereAndNothingIsWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes.export")
	run(t, furnished(t), "export", file).want(t, 0)
	data, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, data[:len(data)-5], 0o600))
	to := memkv.New(memkv.Options{})
	for _, r := range []ran{say(t, "verify", file), run(t, to, "import", file, "--yes")} {
		r.want(t, 1, "not a complete export: it is cut off in the block at byte ")
	}
	if to.Len() > 0 {
		t.Error("something was written:", to.Keys())
	}
	must(t, os.WriteFile(file, []byte("another file"), 0o600))
	say(t, "verify", file).want(t, 1, "not a ringtree store, or a damaged one")
	say(t, "verify", file+".none").want(t, 2, "no such file")
}

func TestCopy_ADryRunComparesTheTwoStores(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := stores{"here": furnished(t), "there": memkv.New(memkv.Options{})}
		s.run(t, "copy", "test:here", "--yes").want(t, 2, "both are test:here")
		s.run(t, "copy", "test:there", "--dry-run").want(t, 1, "only here  Note n1\n")
		s.run(t, "copy", "test:there").want(t, 5, "--yes")
		s.run(t, "copy", "test:there", "--yes").want(t, 0, "Note: 3 records\n", "copied")
		s.run(t, "copy", "test:there", "--dry-run").want(t, 0, "identical: 4 items, checksum ")
	})
}

func TestResave_WritesRecordsOfEarlierVersionsOnce(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		fillWithoutIndexes(t, mem, "Old")
		run(t, mem, "build", "--yes").want(t, 0)
		run(t, mem, "build", "--resave", "Note", "--dry-run").want(t, 0, "dry run: 2 records would be rewritten")
		run(t, mem, "build", "--resave", "Note", "--yes").want(t, 0, "Note: 2 records were rewritten")
		run(t, mem, "build", "--resave", "Note", "--yes").want(t, 0, "Note: 0 records were rewritten")
		run(t, mem, "build", "--resave", "Nite", "--yes").want(t, 2, "did you mean Note?")
	})
}

func TestForget_ErasesARecordAndSaysWhatNamesIt(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := furnished(t)
		set(t, mem, "mine:x", "written by n2 once")
		run(t, mem, "forget", "Note", "n2").want(t, 5, "--yes")
		run(t, mem, "forget", "Note", "n1", "--yes").want(t, 0, "Note n1 is erased", "searched ", "not searched: pictures", "Backups")
		run(t, mem, "forget", "Note", "n2", "--yes").want(t, 1, "its id is still in mine:x", "then db forget Note n2 Snow")
		set(t, mem, "mine:x", "about Snow")
		run(t, mem, "forget", "Note", "n2", "Snow", "--yes").want(t, 1, "\"Snow\" is still in mine:x")
		drop(t, mem, "mine:x")
		run(t, mem, "forget", "Note", "n2", "Snow", "--yes").want(t, 0)
		for _, key := range mem.Keys() {
			if strings.Contains(key, "n2") {
				t.Error(key, "is there")
			}
		}
		run(t, mem, "check").want(t, 0, "all is well")
	})
}

func TestSweep_ListsAndThenDeletesWhatNoModelHas(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := furnished(t)
		run(t, mem, "sweep", "--yes").want(t, 0, "there are no leftovers")
		set(t, mem, "l:Note:ByColor:red#0", "old")
		set(t, mem, "mine:x", "of the app")
		run(t, mem, "sweep").want(t, 5, "Note.ByColor: 1 key, ", "such as l:Note:ByColor:red#0")
		run(t, mem, "sweep", "--yes").want(t, 0, "1 key deleted")
		run(t, mem, "sweep", "--yes").want(t, 0, "there are no leftovers")
		run(t, mem, "get", "--key", "mine:x").want(t, 0)
	})
}

func TestRecover_ListsAgainTheRecordsThatTheKeysLeadTo(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := furnished(t)
		drop(t, mem, "ids:Note#0", "ids:Note")
		run(t, mem, "check").want(t, 1, "lost ids")
		run(t, mem, "recover", "--yes").want(t, 0, "step 1: acknowledge the loss", "step 2: list the surviving records again")
		run(t, mem, "check").want(t, 0, "3 records and ", "all is well")
	})
}

func set(t testing.TB, mem *memkv.Store, key, value string) {
	t.Helper()
	proof.Done(t)(kv.One(t.Context(), mem, kv.OpSet(key, []byte(value))))
}

func TestExport_ARecordThatWasDeletedAndCreatedAnewIsThereOnce(t *testing.T) {
	mem := furnished(t)
	db := open(t, shared(mem))
	all := newNotes(db)
	for range 3 {
		must(t, all.Delete(t.Context(), "n3"))
		must(t, all.Create(t.Context(), &note{ID: "n3", Title: "Moss", Tags: []string{"woods"}}))
	}
	must(t, db.Close(t.Context()))
	file := filepath.Join(t.TempDir(), "export")
	run(t, mem, "export", file).want(t, 0, "Note: 3 records\n")
	run(t, mem, "export", "-", "Note", "--format=csv").want(t, 0, "\nn3,Moss,\"[\"\"woods\"\"]\",***,0\nn2,Snow,\"[\"\"hills\"\",\"\"sea\"\"]\",***,0\n")
	run(t, mem, "check").want(t, 0, "3 records and ")
	must(t, mem.Do(t.Context(), []kv.Op{kv.OpDelete("r:Note:n3")}))
	run(t, mem, "verify", "--against", file).want(t, 1, "only there Note n3\n", "1 difference, ")
}
