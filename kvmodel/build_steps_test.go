package kvmodel_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func openCodes(t *testing.T, s kv.Store, opts ...index.ListOption) (*kvmodel.DB, *notes, *index.Lists[note, string, string]) {
	db := open(t, s)
	r := kvmodel.NewRecords(db, noteSchema())
	return db, r, index.NewLists(r, codes, opts...)
}

type builder struct {
	*site
	builds atomic.Bool
}

func (b *builder) Do(ctx context.Context, ops []kv.Op) error {
	if ops[0].Kind.Writes() && strings.HasPrefix(ops[0].Key, "build:") {
		b.builds.Store(true)
	}
	if !b.builds.Load() {
		return b.Store.Do(ctx, ops)
	}
	return b.site.Do(ctx, ops)
}

// Lists are read again when all records are entered, and may be counted. A process that lives
// little longer than it takes to read all records still makes progress.
func TestBuild_OfListsEndsHoweverOftenItsLastStepIsCutShort(t *testing.T) {
	for name, test := range map[string]struct {
		n     int
		kills int64 // at least
		opts  []index.ListOption
	}{"list": {800, 2, nil}, "counted": {500, 2, []index.ListOption{index.Counted("Code", "Notes")}}} {
		for _, isFile := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", atomic ", isFile), func(t *testing.T) {
				once, _ := buildLists(t, test.n, 0, isFile, test.opts)
				walk := int64(test.n/100 + 40)
				all, kills := buildLists(t, test.n, walk+60, isFile, test.opts)
				t.Logf("%d trips in one go; %d with %d kills", once, all, kills)
				if most := once*12/10 + kills*walk; all > most || kills < test.kills {
					t.Errorf("%d trips with %d kills, want at most %d; %d in one go", all, kills, most, once)
				}
			})
		}
	}
}

// The first progress of a process counts, however small.
func TestBuild_OfListsComesFurtherWithEachProcess(t *testing.T) {
	if _, kills := buildLists(t, 300, 26, true, nil); kills < 5 || kills > 25 {
		t.Errorf("%d were killed", kills)
	}
}

// buildLists builds lists of n notes, some of them moved by an older release, with processes that
// make life trips each. It returns the total number of trips, and the number of killed processes.
func buildLists(t *testing.T, n int, life int64, isFile bool, opts []index.ListOption) (trips, kills int64) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		want := moveCodes(t, ctx, &site{Store: mem, isFile: isFile}, n, opts)
		for ; ; kills++ {
			if kills > 100 {
				t.Fatal("it does not end")
			}
			s := &site{Store: mem, isFile: isFile}
			s.dies.Store(life)
			db, r, lists := openCodes(t, &builder{site: s}, opts...)
			err := r.Rebuild(ctx)
			trips += s.trips.Load()
			if err != nil {
				_ = db.Close(ctx)
				continue
			}
			s.dies.Store(0)
			checkLists(t, ctx, want, lists)
			if opts != nil {
				checkCounts(t, ctx, want, db)
			}
			must(t, db.Close(ctx))
			return
		}
	})
	return trips, kills
}

// moveCodes creates n notes with lists, and then lets a release without these give every seventh
// the code of the next one. It returns the number of notes with each code.
func moveCodes(t *testing.T, ctx context.Context, s kv.Store, n int, opts []index.ListOption) map[string]int {
	t.Helper()
	db, r, _ := openCodes(t, s, opts...)
	want := map[string]int{}
	var all []*note
	for i := range n {
		code := fmt.Sprint("c", i)
		want[code] = 1
		all = append(all, &note{ID: fmt.Sprintf("%05d", i), Text: "x", Code: code})
	}
	must(t, r.CreateMulti(ctx, all))
	must(t, db.Close(ctx))
	old := deploy(t, s)
	for i := 0; i+1 < n; i += 7 {
		from, to := fmt.Sprint("c", i), fmt.Sprint("c", i+1)
		_, err := old.Update(ctx, all[i].ID, func(v *note) error { v.Code = to; return nil })
		must(t, err)
		must(t, old.Create(ctx, &note{ID: "other" + all[i].ID, Text: "x", Code: from}))
		want[to] = 2
	}
	old.undeploy(t)
	return want
}

func checkLists(t *testing.T, ctx context.Context, want map[string]int, lists *index.Lists[note, string, string]) {
	t.Helper()
	got := map[string]int{}
	for code := range want {
		var err error
		got[code], err = lists.Of(code).Size(ctx)
		must(t, err)
	}
	wantSame(t, want, got, "sizes")
}

func checkCounts(t *testing.T, ctx context.Context, want map[string]int, db *kvmodel.DB) {
	t.Helper()
	codes := slices.Sorted(maps.Keys(want))
	numbers, err := db.Derived("Code", "Notes").Counts(ctx, db.Store(), codes)
	must(t, err)
	got := map[string]int{}
	for i, code := range codes {
		got[code] = int(numbers[i])
	}
	wantSame(t, want, got, "counts")
}
