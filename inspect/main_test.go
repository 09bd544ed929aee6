package inspect_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestRun_WrongCallsSayWhatWasMeantAndExitWith2(t *testing.T) {
	mem := furnished(t)
	for _, test := range []struct{ args, want string }{
		{"", "which verb?"},
		{"statsu", `unknown verb "statsu"; did you mean status?`},
		{"explode x", `unknown verb "explode"`},
		{"help chek", "did you mean check?"},
		{"status --jsno", `unknown flag "--jsno"; did you mean --json?`},
		{"status --hex", `status: unknown flag "--hex"; there are --json`},
		{"status now", `status takes nothing, and not "now"`},
		{"get Note", "get takes MODEL ID"},
		{"get Note n1 n2", `get takes MODEL ID, and not "n2" as well`},
		{"get Nota n1", `unknown model "Nota"; did you mean Note?`},
		{"get Draft n1", `unknown model "Draft"; there are Note`},
		{"find Note.ByTitel Moss", "did you mean Note.ByTitle?"},
		{"page Note.ByTaks/sea", "did you mean Note.ByTags?"},
		{"page Note.ByTags/sea many", `"many" is not a number of rows`},
		{"page Note.ByTags/sea 0", "a page of 0"},
		{"ls Nte", "did you mean Note?"},
		{"ls Note.ByTag", "did you mean Note.ByTags?"},
		{"check Note.ByTag", "did you mean Note.ByTags?"},
		{"check --rate fast", `--rate: "fast" is not a number from 1 on`},
		{"check --rate", "--rate N: that is missing"},
		{"check --resume Nota", "--resume: unknown model"},
		{"repair --only missing-entry,orfan", "did you mean orphan?"},
		{"build Not", "did you mean Note?"},
		{"build Note.ByTags", "indexes are built with the others of their model: db build Note"},
		{"completion tcsh", `unknown shell "tcsh"`},
		{"restore here there --until soon", "no such file"},
	} {
		t.Run(test.args, func(t *testing.T) {
			run(t, mem, strings.Fields(test.args)...).want(t, 2, test.want, "says how it is called")
		})
	}
}

func TestRun_WithoutAStoreItAsksForOne(t *testing.T) {
	t.Setenv("RINGTREE_STORE", "")
	c := on(nil, "status")
	c.URL, c.Open = "", nil
	runIn(t.Context(), c).want(t, 2, "no store is named, by --store URL or by $RINGTREE_STORE")
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
	if got := strings.Join(urls, " "); got != "of:environment of:flag of:flag" {
		t.Errorf("opened %s", got)
	}
}

func TestRun_AStoreThatIsDownIsNoticedWithinTwoSeconds(t *testing.T) {
	for _, url := range []string{"redis://127.0.0.1:1", "memcached://127.0.0.1:1", "redis-cluster://:secret@127.0.0.1:1", "bolt:" + filepath.Join(t.TempDir(), "none.db")} {
		for _, args := range []string{"status", "get Note n1", "check", "repair --yes", "ps", "doctor --json"} {
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

// silent is a store that never answers.
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
	url := "bolt:" + filepath.Join(t.TempDir(), "app.db")
	s := boltStore(t, url)
	defer s.Close()
	c := on(nil, "status", "--store", url)
	c.Open = nil
	runIn(t.Context(), c).want(t, 3, "it is open in another process", "have it call inspect.Serve")
}

func TestRun_WhatWritesIsRefusedUnlessSomeoneSaysYes(t *testing.T) {
	mem := furnished(t)
	for _, test := range []struct {
		answer string
		there  bool
		code   int
		want   string
	}{
		{"y\n", false, 5, "nobody is here to be asked; --yes says that it is meant"},
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

// typing is an input that someone is about to type into.
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
	if code := inspect.Run(t.Context(), c); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

func TestHelp_NamesEveryVerbAndEveryFlagOfOne(t *testing.T) {
	r := say(t, "help")
	r.want(t, 0, "Usage: db VERB", "status", "verify-backup URL|FILE", "$RINGTREE_STORE names, or else test://here.", "5 refused")
	if strings.Contains(r.out, "secret") {
		t.Error("it shows a password")
	}
	for _, verb := range regexp.MustCompile(`(?m)^  ([a-z-]+)`).FindAllStringSubmatch(r.out, -1) {
		say(t, "help", verb[1]).want(t, 0, "Usage: db "+verb[1])
		say(t, verb[1], "--help").want(t, 0, "Usage: db "+verb[1])
	}
	say(t, "help", "--store", "mem:", "check").want(t, 0, "--rate N", "--resume LINE", "--tenant NAME")
	say(t, "help", "repair").want(t, 0, "KIND is one of missing-entry,")
}

func TestCompletion_WordsAreVerbsModelsIndexesAndFlags(t *testing.T) {
	for _, test := range []struct{ before, with, without string }{
		{"", "status", "Note"},
		{"get", "Note", "Note.ByTags"},
		{"find", "Note.ByTags", ""},
		{"check", "Note.ByTitle", ""},
		{"check --quick", "Note", ""},
		{"--store mem: get --json", "Note", ""},
		{"get Note", "--private", "Note"},
		{"help", "verify-backup", ""},
		{"completion", "fish", ""},
	} {
		r := say(t, append([]string{"completion", "words", "--"}, strings.Fields(test.before)...)...)
		lines := "\n" + r.out
		if r.code != 0 || !strings.Contains(lines, "\n"+test.with+"\n") || test.without != "" && strings.Contains(lines, "\n"+test.without+"\n") {
			t.Errorf("behind %q: exit code %d, %q", test.before, r.code, r.out)
		}
	}
}

func TestCompletion_EachShellHasAScriptThatCallsTheCommand(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		c := on(nil, "completion", shell)
		c.Name = "app db"
		r := runIn(t.Context(), c)
		r.want(t, 0, "_complete_app_db", " db completion words -- ")
		if strings.Contains(r.out, "%!") {
			t.Errorf("%s:\n%s", shell, r.out)
		}
	}
}
