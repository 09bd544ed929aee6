package inspect_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestRun_WrongCallsSayWhatWasMeantAndExitWith2(t *testing.T) {
	mem := furnished(t)
	for _, test := range []struct{ args, want string }{
		{"statsu", "Did you mean this?\n\tstatus"},
		{"explode x", `unknown command "explode"`},
		{"status --jsno", "unknown flag: --jsno"},
		{"status --sizes", "unknown flag: --sizes"},
		{"status --format csv", "--format csv is for export"},
		{"status --format xml", "want one of json, jsonl, csv"},
		{"status now", `1 argument; the command is: db status`},
		{"get Note", "get takes MODEL ID, or --key KEY"},
		{"get", "get takes MODEL ID, or --key KEY"},
		{"get Note n1 --key r:Note:n1", "get takes MODEL ID, or --key KEY"},
		{"get Note n1 n2", "3 arguments; the command is: db get {MODEL ID | --key KEY}"},
		{"get Nota n1", `unknown model "Nota"; did you mean Note?`},
		{"get Draft n1", `unknown model "Draft"; there are Note`},
		{"list Note.ByTaks/sea", "did you mean Note.ByTags?"},
		{"list Note.ByTags/sea many", `"many" is not a number of rows`},
		{"list Note.ByTags/sea 0", "a page of 0"},
		{"ls Nte", "did you mean Note?"},
		{"ls Note.ByTag", "did you mean Note.ByTags?"},
		{"ls --sizes Nte", "did you mean Note?"},
		{"check Note.ByTag", "did you mean Note.ByTags?"},
		{"check --rate fast", `invalid argument "fast" for "--rate"`},
		{"check --rate", "flag needs an argument: --rate"},
		{"check --resume Nota", "--resume: unknown model"},
		{"build Not", "did you mean Note?"},
		{"build --resave", "--resave takes a MODEL"},
		{"build Note.ByTags", "an index is built with the others of its model: db build Note"},
		{"verify", "verify takes a FILE"},
		{"export x Note", "MODEL and --private need --format csv or jsonl"},
		{"export x Not --format=csv", "did you mean Note?"},
		{"export - Note Note --format=csv", "the output takes the table of one model"},
		{"restore here there --until soon", `invalid argument "soon" for "--until"`},
	} {
		t.Run(test.args, func(t *testing.T) {
			run(t, mem, strings.Fields(test.args)...).want(t, 2, test.want, "shows its usage")
		})
	}
}

func TestRun_WithoutAStoreItAsksForOne(t *testing.T) {
	t.Setenv("RINGTREE_STORE", "")
	c := on(nil, "status")
	c.URL, c.Open = "", nil
	runIn(t.Context(), c).want(t, 2, "no store: pass --store URL or set $RINGTREE_STORE")
}

func TestRun_TheStoreIsThatOfTheFlagOrOfTheEnvironment(t *testing.T) {
	t.Setenv("RINGTREE_STORE", "of:environment")
	var urls []string
	c := on(nil)
	c.Open = func(_ context.Context, url string) (kv.Store, error) {
		urls = append(urls, url)
		return shared(furnished(t)), nil
	}
	for _, args := range []string{"status", "--store of:flag status", "status --store=of:flag"} {
		c.Args = strings.Fields(args)
		runIn(t.Context(), c).want(t, 0)
	}
	proof.Equal(t, strings.Join(urls, " "), "of:environment of:flag of:flag", "opened")
}

func TestRun_AStoreThatIsDownIsNoticedWithinTwoSeconds(t *testing.T) {
	for _, url := range []string{"redis://127.0.0.1:1", "memcached://127.0.0.1:1", "redis-cluster://:secret@127.0.0.1:1", "bolt:" + filepath.Join(t.TempDir(), "none.db")} {
		for _, args := range []string{"status", "get Note n1", "check", "check --repair --yes", "status --deep --format=json"} {
			c := on(nil, append(strings.Fields(args), "--store", url)...)
			c.Open = nil
			began := time.Now()
			r := runIn(t.Context(), c)
			r.want(t, 3)
			if took := time.Since(began); took > 2*time.Second || r.out != "" || strings.Contains(r.errs, "secret") {
				t.Errorf("%s %s: took %v, out %q, errors %q", args, url, took, r.out, r.errs)
			}
		}
	}
}

type silent struct{ kv.Store }

func (silent) Do(ctx context.Context, ops []kv.Op) error {
	<-ctx.Done()
	for i := range ops {
		ops[i].Result = kv.Result{Err: kv.Unavailable(ctx.Err())}
	}
	return kv.Unanswered(ops)
}

func TestRun_AStoreThatIsSilentIsNoticedWithinTwoSeconds(t *testing.T) {
	inTime(t, func(t *testing.T) {
		began := time.Now()
		runIn(t.Context(), on(silent{memkv.New(memkv.Options{})}, "status")).want(t, 3, "store unavailable")
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestRun_AWrongURLIsAWrongCall(t *testing.T) {
	for url, want := range map[string]string{
		"redsi://h":               "did you mean redis?",
		"redis://h?pacience=1s":   "did you mean patience?",
		"here":                    "not a store URL",
		"redis://127.0.0.1:1/one": `database "one" is not a number`,
	} {
		c := on(nil, "status", "--store", url)
		c.Open = nil
		runIn(t.Context(), c).want(t, 2, want)
	}
}

func TestRun_AFileThatIsOpenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	url := "bolt:" + filepath.Join(t.TempDir(), "app.db")
	s := boltStore(t, url)
	defer s.Close()
	c := on(nil, "status", "--store", url)
	c.Open = nil
	runIn(t.Context(), c).want(t, 3, "it is open in another process", "let it call inspect.Serve")
}

func TestRun_WhatWritesIsRefusedUnlessSomeoneSaysYes(t *testing.T) {
	mem := furnished(t)
	for _, test := range []struct {
		answer string
		there  bool
		code   int
		want   string
	}{
		{"y\n", false, 5, "there is no terminal to ask on; pass --yes to confirm"},
		{"no\n", true, 5, "Build the indexes of Note? [y/N] "},
		{"", true, 5, "nothing was written"},
		{"y\n", true, 0, "Note: built"},
	} {
		c := on(shared(mem), "build", "--again")
		c.Stdin = strings.NewReader(test.answer)
		if test.there {
			c = c.AtTerminal()
		}
		runIn(t.Context(), c).want(t, test.code, test.want)
	}
}

type typing struct{ asked func() }

func (i typing) Read([]byte) (int, error) {
	i.asked()
	select {}
}

func TestRun_CtrlCAtAQuestionEndsTheVerb(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := on(shared(furnished(t)), "build", "--again").AtTerminal()
	c.Stdin = typing{cancel}
	runIn(ctx, c).want(t, 4, "stopped: nothing was written")
}

func TestRun_AStoreThatCannotBeWrittenRefuses(t *testing.T) {
	mem := furnished(t)
	s := kv.ReadOnly(shared(mem), errors.Join(kv.ErrUnavailable, kv.ErrReadOnly))
	runIn(t.Context(), on(s, "build", "--again", "--yes")).want(t, 5)
	runIn(t.Context(), on(s, "status")).want(t, 0, "all is well")
}

func TestRun_AnOutputThatCannotBeWrittenIsNotWell(t *testing.T) {
	c := on(shared(furnished(t)), "status")
	c.Stderr = io.Discard
	file, err := os.Open(os.DevNull) // It cannot be written.
	must(t, err)
	defer file.Close()
	c.Stdout = file
	proof.Equal(t, inspect.Run(t.Context(), c), 1, "exit code")
}

func TestHelp_NamesEveryVerbAndEveryFlagOfOne(t *testing.T) {
	r := say(t, "--help")
	r.want(t, 0, "db [command]", "$RINGTREE_STORE names the store, or else test://here.", "5 refused")
	if strings.Contains(r.out, "secret") {
		t.Error("it shows a password")
	}
	for name, flags := range inspect.Verbs() {
		r.want(t, 0, "\n  "+name+" ")
		for _, help := range []ran{say(t, "help", name), say(t, name, "--help")} {
			help.want(t, 0, "Usage:\n  db "+name, "--tenant NAME")
			for _, flag := range flags {
				help.want(t, 0, "--"+flag+" ")
			}
		}
	}
}

func TestCompletion_WordsAreVerbsModelsAndIndexes(t *testing.T) {
	for _, test := range []struct{ before, with, without string }{
		{"", "status", "Note"},
		{"get", "Note", "Note.ByTags"},
		{"list", "Note.ByTags", "Note"},
		{"check", "Note.ByTitle", ""},
		{"check --quick", "Note", ""},
		{"--store mem: get --format=json", "Note", ""},
		{"get Note", "", "Note"},
		{"help", "verify", ""},
		{"completion", "fish", ""},
	} {
		r := say(t, append(append([]string{"__completeNoDesc"}, strings.Fields(test.before)...), "")...)
		lines := strings.Split(r.out, "\n")
		if r.code != 0 || test.with != "" && !slices.Contains(lines, test.with) || test.without != "" && slices.Contains(lines, test.without) {
			t.Errorf("behind %q: exit code %d, %q", test.before, r.code, r.out)
		}
	}
}

func shares(t testing.TB, tenants ...string) *memkv.Store {
	t.Helper()
	mem := furnished(t)
	for _, tenant := range tenants {
		s, err := kv.Prefix(shared(mem), tenant)
		must(t, err)
		fill(t, s)
	}
	return mem
}

func TestTenant_EachSeesItsKeysAlone(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := shares(t, "snow", "sno")
		own := run(t, furnished(t), "check").out
		for _, tenant := range []string{"snow", "sno"} {
			if r := run(t, mem, "check", "--tenant", tenant); r.code != 0 || !strings.HasPrefix(r.out, strings.TrimSuffix(own[:20], "\n")) {
				t.Errorf("%s: exit code %d\n%swant\n%s", tenant, r.code, r.out, own)
			}
			run(t, mem, "sweep", "--tenant", tenant, "--yes").want(t, 0, "there are no leftovers")
			if r := run(t, mem, "ls", "--sizes", "--tenant", tenant); strings.Contains(r.out, "foreign") {
				t.Errorf("%s: %s", tenant, r.out)
			}
		}
		before := len(mem.Keys())
		run(t, mem, "check").want(t, 0, "all is well", "not of this program's models")
		run(t, mem, "sweep", "--yes").want(t, 0)
		if after := len(mem.Keys()); after != before {
			t.Errorf("a sweep of no tenant has deleted %d keys of others", before-after)
		}
		run(t, mem, "copy", "test:there", "--tenant", "snow", "--to-tenant", "ice", "--yes").want(t, 0, "Note: 3 records\n")
		run(t, mem, "copy", "test:there", "--dry-run", "--tenant", "snow", "--to-tenant", "ice").want(t, 0, "identical: 4 items")
		run(t, mem, "check", "--tenant", "ice").want(t, 0, "all is well")
		file := filepath.Join(t.TempDir(), "snow.export")
		run(t, mem, "export", file, "--tenant", "snow").want(t, 0, "Note: 3 records\n", "exported, with 0 items that belong to no record")
		run(t, mem, "verify", "--against", file, "--tenant", "snow").want(t, 0, "identical: 4 items")
		run(t, mem, "forget", "Note", "n1", "--tenant", "snow", "--yes").want(t, 0, "Note n1 is erased")
		run(t, mem, "verify", "--against", file, "--tenant", "snow").want(t, 1, "only there Note n1")
		run(t, mem, "get", "Note", "n1", "--tenant", "sno").want(t, 0)
		run(t, mem, "get", "Note", "n1").want(t, 0)
	})
}

// A DB that opens the file to write, with indexes, builds these.
func unbuilt(t *testing.T, path string) {
	t.Helper()
	s := boltStore(t, "bolt:"+path)
	db := open(t, s)
	all := bareNotes(db)
	for _, id := range []string{"n1", "n2"} {
		must(t, all.Create(t.Context(), &note{ID: id, Title: "of " + id, Tags: []string{"sea"}}))
	}
	must(t, db.Close(t.Context()))
}

func itemsIn(t *testing.T, path string) map[string]kv.Result {
	t.Helper()
	s := boltStore(t, "bolt:"+path)
	all := make(map[string]kv.Result)
	must(t, kv.PowersOf(s).Keys(t.Context(), "", func(keys []string) error {
		results, err := kv.GetAll(t.Context(), s, keys...)
		for i, key := range keys {
			all[key] = results[i]
		}
		return err
	}))
	must(t, s.Close())
	return all
}

// By the end of the minute, a DB has done all it does by itself.
func waiting(c inspect.Config) inspect.Config {
	c.Models = func(db *kvmodel.DB) []kvmodel.Model {
		all := models(db)
		time.Sleep(time.Minute)
		return all
	}
	return c
}

// A verb that writes takes --yes, and with --dry-run it only reads.
func TestVerbs_ThatReadLeaveAFileAsItIs(t *testing.T) {
	inTime(t, func(t *testing.T) {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		calls := map[string][]string{
			"status": {"--deep"}, "ls": {"--sizes"}, "get": {"Note", "n1"}, "list": {"Note.ByTags/sea"}, "check": {"--repair"},
			"export": {at("export")}, "import": {at("export")}, "copy": {"mem:"},
			"backup": {at("backup")}, "restore": {at("backup"), at("restored.db")}, "verify": {"--against", at("export")},
			"compact": {at("unbuilt.db")}, "build": {}, "recover": {}, "sweep": {}, "forget": {"Note", "n1"},
		}
		verbs := inspect.Verbs()
		proof.NoDiff(t, cmp.Diff(slices.Sorted(maps.Keys(verbs)), slices.Sorted(maps.Keys(calls))), "say how each verb is called")
		path := at("unbuilt.db")
		unbuilt(t, path)
		want := itemsIn(t, path)
		file(t, path, "export", at("export")).want(t, 0)
		file(t, path, "backup", at("backup")).want(t, 0)
		fresh, err := os.ReadFile(path)
		must(t, err)
		calls["export"][0], calls["backup"][0] = at("export again"), at("backup again")
		for _, name := range slices.Sorted(maps.Keys(calls)) {
			args := append([]string{name}, calls[name]...)
			if slices.Contains(verbs[name], "yes") {
				args = append(args, "--dry-run")
			}
			must(t, os.WriteFile(path, fresh, 0o600))
			c := waiting(on(nil, args...))
			c.URL, c.Open = "bolt:"+path, nil
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			r := runIn(ctx, c)
			cancel()
			if r.code == 2 || r.code == 3 {
				t.Errorf("%s: exit code %d, %s", name, r.code, r.errs)
			}
			proof.NoDiff(t, cmp.Diff(want, itemsIn(t, path)), "%s has changed the file", name)
		}
	})
}
