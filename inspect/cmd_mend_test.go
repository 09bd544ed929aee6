package inspect_test

import (
	"context"
	"fmt"
	"regexp"
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

func contextFor(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(d, cancel)
	return ctx, cancel
}

func drop(t testing.TB, mem *memkv.Store, keys ...string) {
	t.Helper()
	for _, key := range keys {
		proof.Done(t)(kv.One(t.Context(), mem, kv.OpDelete(key)))
	}
}

func fillWithoutIndexes(t testing.TB, mem *memkv.Store, titles ...string) {
	t.Helper()
	db := open(t, shared(mem))
	all := bareNotes(db)
	for i, title := range append(titles, "Last") {
		must(t, all.Create(t.Context(), &note{ID: "n" + string(rune('1'+i)), Title: title, Tags: []string{"old"}}))
	}
	must(t, db.Close(t.Context()))
}

func TestCheck_ASoundStoreIsWell(t *testing.T) {
	r := run(t, furnished(t), "check")
	r.want(t, 0, "3 records and ", ": all is well\n")
	run(t, furnished(t), "check", "Note.ByTags", "--format=json").want(t, 0, `{"v":1,"type":"check","counts":{},"records":3,`)
}

func TestCheck_FaultsAreNamedAndExitWith1(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := furnished(t)
		drop(t, mem, "u:Note:ByTitle:Tides")
		run(t, mem, "check").want(t, 1, "missing entry   Note.ByTitle n1   ", "1 x missing entry", "next: db check --repair\n")
		run(t, mem, "check", "Note").want(t, 1, "next: db check --repair Note\n")
		run(t, mem, "check", "Note.ByTags").want(t, 0)
		all := run(t, mem, "check", "--format=json").objects(t)
		if len(all) != 2 || all[0]["type"] != "fault" || all[0]["kind"] != "missing entry" || all[1]["type"] != "check" {
			t.Errorf("%v", all)
		}
	})
}

func TestCheck_WhatCouldNotBeAskedIsNoGreenLine(t *testing.T) {
	r := runIn(t.Context(), on(unkeyed(furnished(t)), "check"))
	r.want(t, 1, "not checked: stray entries, counts and unlisted records: the store cannot list its keys", "no problem in the checked parts")
	if strings.Contains(r.out, "all is well") {
		t.Error("it says that all is well")
	}
	run(t, furnished(t), "check", "--quick").want(t, 0, "not checked: stray entries, counts and unlisted records: a quick check", "no problem in the checked parts")
}

func TestCheck_OneThatIsStoppedSaysHowToGoOn(t *testing.T) {
	inTime(t, func(t *testing.T) {
		ctx, cancel := contextFor(t, 100*time.Millisecond)
		defer cancel()
		s := shared(furnished(t))
		r := runIn(ctx, on(s, "check", "--rate", "1", "Note", "--format=json"))
		r.want(t, 4, "stopped; to continue: db check Note --rate=1 --format=json --resume 'Note ")
		_, line, _ := strings.Cut(strings.TrimSpace(r.errs), "--resume '")
		runIn(t.Context(), on(s, "check", "--resume", strings.Trim(line, "'"))).want(t, 0, "a resumed check does not know all ids")
	})
}

func TestCheck_ALineToGoOnWithThatIsNoneIsAWrongCall(t *testing.T) {
	run(t, furnished(t), "check", "--resume", "Note nonsense").want(t, 2, "bad cursor")
}

func TestCheck_ShowsEveryTenSecondsHowFarItIs(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		db := open(t, shared(mem))
		var many []*note
		for i := range 3000 {
			many = append(many, &note{ID: "n" + kvmodel.NewID(time.Now().Add(time.Duration(i)*time.Second)), Title: kvmodel.NewID(time.Now().Add(time.Duration(i) * time.Second))})
		}
		must(t, newNotes(db).CreateMulti(t.Context(), many))
		must(t, db.Close(t.Context()))
		r := run(t, mem, "check", "--rate", "100")
		r.want(t, 0, "all is well")
		line := regexp.MustCompile(`(?m)^check Note 1,\d{3} of \d,\d{3} \(\d+ %\) \d+/s`)
		if n := strings.Count(r.errs, "\n"); !line.MatchString(r.errs) || !strings.Contains(r.errs, "\ncheck keys ") || n < 8 || n > 10 {
			t.Errorf("%d lines of progress:\n%s", n, r.errs)
		}
	})
}

func TestProgress_DoesNotCountTheTimeBeforeSomethingIsDone(t *testing.T) {
	step := func(done int64) inspect.Step {
		return inspect.Step{Verb: "build", What: "Note", Done: done, Total: 12_000}
	}
	lines := inspect.Lines(step(3000), step(3000), step(3000), step(3000), step(4000), step(6000))
	want := []string{
		"build Note 3,000 of 12,000 (25 %)", "build Note 3,000 of 12,000 (25 %)", "build Note 3,000 of 12,000 (25 %)", "build Note 3,000 of 12,000 (25 %)",
		"build Note 4,000 of 12,000 (33 %) 100/s, 1m20s left", "build Note 6,000 of 12,000 (50 %) 150/s, 40 s left",
	}
	proof.NoDiff(t, cmp.Diff(want, lines), "mismatch")
}

func TestRepair_MendsWhatACheckFinds(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := furnished(t)
		drop(t, mem, "u:Note:ByTitle:Tides", "u:Note:ByTitle:Moss")
		run(t, mem, "check", "--repair").want(t, 5, "missing entry   Note.ByTitle n1   ", "-> enter the record again", "there is no terminal to ask on")
		run(t, mem, "check", "--repair", "--dry-run").want(t, 1, "dry run: nothing was written")
		run(t, mem, "check").want(t, 1, "2 x missing entry")
		asks := on(shared(mem), "check", "--repair").AtTerminal()
		asks.Stdin = strings.NewReader("n\n")
		runIn(t.Context(), asks).want(t, 5, "Repair 2 faults? [y/N] ", "nothing was written")
		all := run(t, mem, "check", "--repair", "--yes", "--format=json").objects(t)
		if len(all) != 4 || all[0]["type"] != "planned" || all[2]["type"] != "mended" || all[2]["did"] != "enter the record again" {
			t.Errorf("%v", all)
		}
		run(t, mem, "check").want(t, 0)
		run(t, mem, "check", "--repair", "--yes").wantOut(t, 0, "there is nothing to repair\n")
	})
}

// A server that is lost takes records along, and parts of the lists of which they were. While a
// part is lost, a check cannot look at the rest of a list.
func TestRepair_MendsWhatDamageHasHidden(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		db := open(t, shared(mem))
		var many []*note
		for i := range 1000 {
			id := fmt.Sprintf("%s%03d", strings.Repeat("n", 60), i)
			many = append(many, &note{ID: id, Title: id, Tags: []string{"sea"}})
		}
		must(t, newNotes(db).CreateMulti(t.Context(), many))
		must(t, db.Close(t.Context()))
		var segments []string
		must(t, kv.PowersOf(mem).Keys(t.Context(), "l:Note:ByTags:sea#", func(some []string) error {
			for _, key := range some {
				if !strings.HasSuffix(key, "#0") { // By that a check finds the list.
					segments = append(segments, key)
				}
			}
			return nil
		}))
		if len(segments) < 3 {
			t.Fatalf("a list of %d segments", len(segments))
		}
		drop(t, mem, segments[:2]...)
		for _, n := range many { // No record leads a build to the list.
			drop(t, mem, "r:Note:"+n.ID)
		}
		time.Sleep(2 * time.Minute) // Until then an entry may be of a change under way.
		if r := run(t, mem, "check"); strings.Contains(r.out, "stray entry   Note.ByTags") {
			t.Error("the check has seen the rest of the list")
		}
		run(t, mem, "check", "--repair", "--yes").want(t, 0, "damaged item   Note.ByTags", "stray entry   Note.ByTags", " 0 left")
		run(t, mem, "check").want(t, 0)
	})
}

func TestRepair_WhatIsLostIsLeft(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := furnished(t)
		must(t, mem.Do(t.Context(), []kv.Op{kv.OpSet("r:Note:n1", []byte("\xff\xff damaged"))}))
		run(t, mem, "check", "--repair", "--yes").want(t, 1, "damaged record", "FAILED: Note n1: it is lost", "left: damaged record")
	})
}

func TestCheck_OfAnIndexThatIsNotBuiltHasOneFault(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		fillWithoutIndexes(t, mem, "First", "Second")
		for _, args := range [][]string{{"check"}, {"check", "--repair"}} {
			said := run(t, mem, args...)
			for _, text := range []string{"Note.ByTitle is not built; 3 entries are missing there", "Note.ByTags is not built; 3 entries are missing there"} {
				proof.Contains(t, said.out, text)
			}
			if strings.Contains(said.out, "missing entry") {
				t.Errorf("%s names what is missing beside that:\n%s", args[0], said.out)
			}
		}
		run(t, mem, "check", "--repair", "--yes").want(t, 0, "2 repaired, 0 left")
		drop(t, mem, "u:Note:ByTitle:First")
		run(t, mem, "check").want(t, 1, "missing entry   Note.ByTitle n1")
	})
}

func TestBuild_BuildsWhatIsNotBuilt(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		fillWithoutIndexes(t, mem, "First")
		run(t, mem, "build", "--dry-run").want(t, 0, "Note: build ByTags, ByTitle, with about 2 records", "dry run: nothing was written")
		run(t, mem, "build", "--yes").want(t, 0, "Note: built\n")
		run(t, mem, "status").want(t, 0, "all is well")
		run(t, mem, "build", "--yes").wantOut(t, 0, "everything is built\n")
		run(t, mem, "build", "Note", "--again", "--yes").want(t, 0, "Note: build ByTags, ByTitle", "Note: built\n")
	})
}

func TestBuild_RecordsInConflictAreNamed(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		fillWithoutIndexes(t, mem, "Last", "Other")
		run(t, mem, "build", "--yes").want(t, 1, `Note.ByTitle: Title "Last" is taken by "`, "1 record is in conflict, so ByTitle cannot be built")
		run(t, mem, "status").want(t, 1, "ByTitle: BUILDING", "ByTags", "held back, with 1 in conflict: run db build")
	})
}

func TestBuild_WaitsForAProcessWithOtherIndexesAndNamesIt(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		db := open(t, shared(mem), kvmodel.Release("old-1"))
		old := bareNotes(db)
		writing, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for kv.Sleep(writing, time.Second) {
				_ = old.Put(t.Context(), &note{ID: "n1", Title: "again"})
			}
		}()
		time.Sleep(3 * time.Second)
		run(t, mem, "status").want(t, 1, "(release old-1, since 3 s) has other indexes of Note")
		run(t, mem, "status", "--format=json").want(t, 1, `"pid":`, `"release":"old-1"`, `"other":["Note"]`)
		run(t, mem, "build", "--yes").want(t, 4, "Note: process ", " (release old-1, since 3 s) writes it with other indexes; the build waits for its end", "end the processes that write Note with other indexes, ", "; then: db build --yes")
		stop()
		<-ended
		must(t, db.Close(context.Background()))
	})
}

func TestRecover_SaysBeforeEachStepWhatWillBeLostAndAsks(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := client{newServer(furnished(t))}
		s.lost.Store(true)
		runIn(t.Context(), on(s, "status", "--deep")).want(t, 1, "store has lost its data", "next       db recover")
		runIn(t.Context(), on(s, "get", "Note", "n1")).want(t, 1, "`db recover` shows the losses")
		runIn(t.Context(), on(s, "check")).want(t, 1, "`db recover` shows the losses")
		runIn(t.Context(), on(s, "recover")).want(t, 5, "lost: cache-1:11211: store has lost its data", "step 1: acknowledge", "counter Note.Views.", "there is no terminal to ask on")
		runIn(t.Context(), on(s, "recover", "--dry-run")).want(t, 0, "nothing was written")
		if !s.lost.Load() {
			t.Fatal("it was acknowledged without a yes")
		}
		drop(t, s.store, "u:Note:ByTitle:Tides")
		c := on(s, "recover").AtTerminal()
		c.Stdin = strings.NewReader("y\nno\n")
		runIn(t.Context(), c).want(t, 5, "acknowledged: cache-1:11211", "step 2: list the surviving records again, and build the indexes of Note", "nothing was written")
		said := runIn(t.Context(), on(s, "recover", "--yes"))
		said.want(t, 0, "step 1: no loss to acknowledge", "step 2: list the surviving", "there is nothing to repair")
		runIn(t.Context(), on(s, "recover", "--yes")).want(t, 0, "step 1: no loss", "step 2: all records are listed", "restart it")
		proof.Equal(t, s.edition.Load(), 2, "edition")
		runIn(t.Context(), on(s, "check")).want(t, 0, "all is well")
	})
}

func TestRecover_OfAnEmptyStoreOnServersIsToldToAppsThatRun(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := client{newServer(memkv.New(memkv.Options{}))}
		must(t, s.Do(t.Context(), []kv.Op{kv.OpSet("ringtree{b}", nil)})) // as servers show it
		runIn(t.Context(), on(s, "status")).want(t, 0, "the store is empty", "run `db recover`")
		runIn(t.Context(), on(s, "recover")).want(t, 5, "step 1: accept that the store is empty", "ErrLost until then")
		runIn(t.Context(), on(s, "recover", "--dry-run")).want(t, 0, "nothing was written")
		if s.edition.Load() != 1 {
			t.Error("it was accepted without a yes")
		}
		runIn(t.Context(), on(s, "recover", "--yes")).want(t, 0, "accepted: running apps take the empty store")
		if s.edition.Load() != renewed {
			t.Error("no app is told")
		}
		runIn(t.Context(), on(s, "status")).want(t, 0, "all is well")
		// The indexes of another app or tenant there must not be built again.
		s.edition.Store(1)
		must(t, s.Do(t.Context(), []kv.Op{kv.OpSet("other:r:Note:1", nil)}))
		runIn(t.Context(), on(s, "recover", "--yes")).want(t, 0, "no loss to acknowledge")
		if s.edition.Load() != 1 {
			t.Error("the store has something, and was taken for an empty one")
		}
	})
}

// Each step is done once, though the one before it was done by a call that was cut short.
func TestRecover_GoesOnWhereItWasStopped(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := client{newServer(furnished(t))}
		s.lost.Store(true)
		before, err := kv.One(t.Context(), s.store, kv.OpGet("ids:Note#0"))
		must(t, err)
		db := open(t, shared(s.store))
		must(t, newNotes(db).Create(t.Context(), &note{ID: "n4", Title: "Dew"}))
		must(t, db.Close(t.Context()))
		must(t, s.store.Do(t.Context(), []kv.Op{kv.OpSet("ids:Note#0", before.Value)})) // which does not name n4
		recovering := func(answers string) ran {
			c := on(s, "recover").AtTerminal()
			c.Stdin = strings.NewReader(answers)
			return runIn(t.Context(), c)
		}
		const says = "a loss was acknowledged, and nothing recovered yet"
		recovering("y\n").want(t, 5, "acknowledged")
		runIn(t.Context(), on(s, "status")).want(t, 1, says, "next       db recover")
		runIn(t.Context(), on(s, "build", "--yes")).want(t, 0)
		runIn(t.Context(), on(s, "status")).want(t, 1, says)
		runIn(t.Context(), on(s, "check")).want(t, 1, "unlisted record")
		recovering("y\n").want(t, 0, "step 2: list")
		runIn(t.Context(), on(s, "check")).want(t, 0, "4 records", "all is well")
		runIn(t.Context(), on(s, "status")).want(t, 0, "all is well")
		s.lost.Store(true)
		recovering("y\n").want(t, 5)
		runIn(t.Context(), on(s, "status")).want(t, 1, says)
	})
}
