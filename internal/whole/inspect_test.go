package whole_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/internal/whole/before"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func (k kind) inspected(t *testing.T, items map[string][]byte, f func(t *testing.T, l *whole.Library, mem *memkv.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour)
		mem := holding(t, items)
		powers := k.powers(mem)
		powers.Keys = mem.Powers().Keys
		f(t, libraryIn(t, still{mem, powers}), mem)
	})
}

func checked(t *testing.T, l *whole.Library) inspect.Report {
	t.Helper()
	r, err := inspect.New(l.DB).Check(ctx, inspect.CheckOptions{})
	must(t, err)
	return r
}

func faultTexts(faults []inspect.Fault) string {
	var texts []string
	for _, f := range faults {
		texts = append(texts, fmt.Sprintf("%s (%s.%s %s): %.200s", f.Kind, f.Model, f.Index, f.ID, f.Text))
	}
	return strings.Join(texts, "\n")
}

func TestInspect_ASoundStoreChecksCleanAndNothingIsWritten(t *testing.T) {
	for _, w := range lossWorlds {
		t.Run(w.name, func(t *testing.T) {
			w.inspected(t, w.furnished(t), func(t *testing.T, l *whole.Library, mem *memkv.Store) {
				before := contents(t, mem)
				r := checked(t, l)
				if !r.Well() || r.Records == 0 || r.Keys == 0 {
					t.Errorf("%d records, %d keys, unasked %q:\n%s", r.Records, r.Keys, r.Unasked, faultTexts(r.Faults))
				}
				in := inspect.New(l.DB)
				proof.Ends(t, nil)(in.Status(ctx))
				proof.Ends(t, nil)(in.Get(ctx, "Work", "w1", false))
				for _, key := range slices.Sorted(maps.Keys(before)) {
					if it, err := in.Key(ctx, key); err != nil || it.Damaged != nil {
						t.Error(key, err, it.Damaged)
					}
				}
				if diff := cmp.Diff(before, contents(t, mem)); diff != "" {
					t.Error("the store was written to:", diff)
				}
			})
		})
	}
}

type planted struct {
	w          kind
	class, key string
	number     bool
	flip       *flip // nil: the item is lost
}

func (p planted) String() string {
	if p.flip == nil {
		return fmt.Sprintf("%s lost (%s, %s)", p.class, p.key, p.w.name)
	}
	return fmt.Sprintf("%s, %v (%s, %s)", p.class, *p.flip, p.key, p.w.name)
}

type fate struct {
	quiet bool // a check cannot find it, or readers have made up for it
	maybe bool // quiet for some items of the class
	stays bool // a repair can only name it
	why   string
}

// fates are faults that are not found or not mended: by class, or by class and "lost", "flip" or
// "digit".
var fates = map[string]fate{
	"per":                {quiet: true, why: "nothing else says what was counted"},
	"n Work Views lost":  {quiet: true, why: "a counter that nobody counted is not there either"},
	"n Work Views digit": {quiet: true, why: "servers count with these numbers"},
	"e #a lost":          {quiet: true, why: "nothing else says that there were events"},
	"e #a flip":          {stays: true, why: "until others have taken their place"},
	"e #p lost":          {quiet: true, why: "nothing else says that there were events"},
	"e #p flip":          {stays: true, why: "until others have taken their place"},
	"e segment lost":     {quiet: true, why: "nothing else says that there were events"},
	"e segment flip":     {stays: true, why: "until others have taken their place"},
	"e counter":          {quiet: true, why: "the next writer finds it again"},
	"t counter lost":     {quiet: true, why: "the next writer finds it again"},
	"t counter digit":    {quiet: true, why: "the next writer finds it again"},
	"n Work Views flip":  {stays: true, why: "until Set says what it is"},
	"procs":              {quiet: true, why: "processes put themselves in again"},
	"out flip":           {quiet: true, why: "one of its two copies is good"},
	"l first segment":    {maybe: true, why: "of a list with a head it holds nothing"},
	"format":             {quiet: true, why: "the next write adds it; and a damaged one lets nothing be read"},
	"seq":                {quiet: true, why: "it only shortens a search"},
	"rebuild":            {quiet: true, why: "a number of builds"},
	"rebuilt":            {quiet: true, why: "a number of builds"},
	"h Work":             {quiet: true, why: "a history is read when it is asked for"},
}

func (p planted) fate() fate {
	how := "lost"
	if p.flip != nil {
		how = "flip"
		if *p.flip == toDigit && p.number {
			how = "digit"
		}
	}
	if f, ok := fates[p.class+" "+how]; ok {
		return f
	}
	switch f := fates[p.class]; {
	case strings.HasPrefix(p.class, "rank ") && (strings.HasSuffix(p.class, " edge") || strings.HasSuffix(p.class, " meta")):
		return fate{quiet: true, why: "each is made again from the other"}
	case strings.HasPrefix(p.class, "built ") && how == "flip":
		return fate{quiet: true, why: "one of its two copies is good"}
	case strings.HasPrefix(p.class, "built ") && p.w.name == "alone":
		return fate{maybe: true, why: "who holds the store alone builds what it does not know to be built"}
	case strings.HasPrefix(p.class, "r ") && how != "lost":
		return fate{stays: true, maybe: true, why: "a record that cannot be read; its sum can be damaged, too"}
	default:
		return f
	}
}

func (p planted) try(t *testing.T, items map[string][]byte) (wrong []string) {
	items = maps.Clone(items)
	value := items[p.key]
	delete(items, p.key)
	if p.flip != nil {
		items[p.key] = p.flip.of(value)
	}
	want := p.fate()
	p.w.inspected(t, items, func(t *testing.T, l *whole.Library, mem *memkv.Store) {
		in := inspect.New(l.DB)
		found := checked(t, l)
		if found.Well() != want.quiet {
			if !want.maybe || !found.Well() {
				wrong = append(wrong, fmt.Sprintf("found %v: %s", found.Counts, faultTexts(found.Faults)))
			}
			want.quiet = want.maybe
		}
		if _, err := in.Repair(ctx, found.Faults, inspect.RepairOptions{}); err != nil {
			wrong = append(wrong, "repair: "+err.Error())
		}
		rest(t, l)
		left := checked(t, l)
		if left.Well() == want.stays && !want.maybe {
			wrong = append(wrong, fmt.Sprintf("left %v: %s", left.Counts, faultTexts(left.Faults)))
		}
		if again, err := in.Repair(ctx, left.Faults, inspect.RepairOptions{}); err != nil || again.Mended > 0 {
			wrong = append(wrong, fmt.Sprintf("a second repair mends %d (%v)", again.Mended, err))
		}
		if want.quiet || want.stays {
			return
		}
		should, err := l.Should(ctx)
		if err != nil {
			wrong = append(wrong, err.Error())
			return
		}
		wrong = append(wrong, should.Differences(l.Look(ctx))...)
	})
	return wrong
}

func TestMatrix_OfInspection_WhatIsLostOrFlippedIsFoundAndMendedOrNamed(t *testing.T) {
	var few, all []planted
	stores := map[string]map[string][]byte{}
	for i, w := range lossWorlds {
		items := w.furnished(t)
		stores[w.name] = items
		for _, key := range slices.Sorted(maps.Keys(items)) {
			ps := plantedAt(w, key, items[key])
			all = append(all, ps...)
			if i == 0 && slices.Contains(inspectedFirst, key) {
				few = append(few, ps[:2]...)
			}
		}
	}
	for p := range proof.Part(t, few, all) {
		if wrong := p.try(t, stores[p.w.name]); len(wrong) > 0 {
			t.Errorf("%v\n%.2000s", p, strings.Join(wrong, "\n"))
		}
	}
}

func plantedAt(w kind, key string, value []byte) []planted {
	_, err := kv.ParseNumber(value)
	p := planted{w: w, class: damagedClass(key, value), key: key, number: err == nil}
	all := []planted{p}
	if len(value) > 0 {
		for _, f := range flips(value) {
			p.flip = f
			all = append(all, p)
		}
	}
	return all
}

var inspectedFirst = []string{
	"c:Work:Likes:w4", "l:Like:ByWork:w7#0", "u:Offer:ByCode:c37", "r:Work:w3", "ids:Work", "rank:Work:TopViews:i:w3",
}

func TestInspect_ADamagedRecordOfAMemberIsMendedWithoutABuild(t *testing.T) {
	const key = "rank:Work:TopViews:i:w3"
	w := lossWorlds[0]
	items := w.furnished(t)
	items[key] = flips(items[key])[0].of(items[key])
	w.inspected(t, items, func(t *testing.T, l *whole.Library, mem *memkv.Store) {
		found := checked(t, l)
		done, err := inspect.New(l.DB).Repair(ctx, found.Faults, inspect.RepairOptions{})
		must(t, err)
		if len(found.Faults) != 1 || done.Mended != 1 || !strings.Contains(found.Faults[0].Text, key) {
			t.Errorf("%d mended of %s; want the one that names %s", done.Mended, faultTexts(found.Faults), key)
		}
		if slices.Contains(mem.Keys(), "rebuild:Work") {
			t.Error("the model was built again")
		}
	})
}

// No record of the model confirms a member of a board over a counter. The key of a long id is
// hashed.
func TestInspect_ABitFlippedInAMembersOwnRecordIsFoundOnEveryBoard(t *testing.T) {
	long := strings.Repeat("long-", 50)
	w := lossWorlds[0]
	items := w.items(t, func(t *testing.T, l *whole.Library, _ *memkv.Store) {
		for i, id := range []string{"short", long} {
			furnish(t, l, i, id)
		}
		rest(t, l)
		must(t, l.DB.Close(ctx))
	})
	for _, board := range []string{"TopViews:", "TopViewsPerDay:", "TopLikes:"} {
		tried := 0
		for key, value := range items {
			name, _, own := strings.Cut(key, ":i:")
			if !own || !strings.HasPrefix(name+":", "rank:Work:"+board) {
				continue
			}
			tried++
			for bit := 0; bit < 8*len(value); bit += 5 {
				flipped := slices.Clone(value)
				flipped[bit/8] ^= 1 << (bit % 8)
				harmed := maps.Clone(items)
				harmed[key] = flipped
				w.inspected(t, harmed, func(t *testing.T, l *whole.Library, _ *memkv.Store) {
					found := checked(t, l)
					proof.Contains(t, faultTexts(found.Faults), key)
				})
			}
		}
		proof.Equal(t, tried, 2, "%s", board)
	}
}

func TestMatrix_OfExports_AnImportIsTheSameOnEveryKindOfStore(t *testing.T) {
	t.Parallel()
	for i, from := range lossWorlds {
		items := from.furnished(t)
		var file, second bytes.Buffer
		var want whole.Shown
		from.inspected(t, items, func(t *testing.T, l *whole.Library, _ *memkv.Store) {
			want = l.Look(ctx)
			proof.Done(t)(inspect.New(l.DB).Export(ctx, &file, inspect.Pace{}))
		})
		next := (i + 1) % len(lossWorlds)
		for to := range proof.Part(t, lossWorlds[next:next+1], lossWorlds) {
			second.Reset()
			to.inspected(t, nil, func(t *testing.T, l *whole.Library, _ *memkv.Store) {
				in := inspect.New(l.DB)
				sum, err := in.Import(ctx, bytes.NewReader(file.Bytes()), inspect.ImportOptions{})
				must(t, err)
				rest(t, l)
				for _, wrong := range want.Differences(l.Look(ctx)) {
					t.Errorf("%s to %s: %.300s", from.name, to.name, wrong)
				}
				if r := checked(t, l); !r.Well() {
					t.Errorf("%s to %s: %s", from.name, to.name, faultTexts(r.Faults))
				}
				again, err := in.Export(ctx, &second, inspect.Pace{})
				must(t, err)
				proof.NoDiff(t, cmp.Diff(sum, again), "%s to %s: another export", from.name, to.name)
				d, err := in.DiffFile(ctx, bytes.NewReader(file.Bytes()), inspect.Pace{})
				must(t, err)
				if d.All > 0 {
					t.Errorf("%s to %s: %v", from.name, to.name, d.First)
				}
			})
		}
	}
}

func TestInspect_ResaveLeavesNoRecordOfAnEarlierVersionAndChangesNothing(t *testing.T) {
	k := kinds[1]
	synctest.Test(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		old := before.New(openedDB(t, k.opened(mem)))
		for i := range 5 {
			must(t, old.Works.Create(ctx, &before.Work{ID: fmt.Sprint("w", i), Slug: fmt.Sprint("s", i), Author: "ann", Title: "t"}))
		}
		must(t, old.Works.DB().Close(ctx))
		l := libraryIn(t, k.opened(mem))
		defer func() { _ = l.DB.Close(ctx) }()
		must(t, l.Works.Rebuild(ctx))
		want := l.Look(ctx)
		in := inspect.New(l.DB)
		for _, dry := range []bool{true, false} {
			if n, err := in.Resave(ctx, "Work", inspect.ResaveOptions{Dry: dry}); n != 5 || err != nil {
				t.Errorf("dry %t: %d records, %v", dry, n, err)
			}
		}
		if n, err := in.Resave(ctx, "Work", inspect.ResaveOptions{}); n != 0 || err != nil {
			t.Errorf("again: %d records, %v", n, err)
		}
		if diff := want.Differences(l.Look(ctx)); diff != nil {
			t.Error(diff)
		}
		if r := checked(t, l); !r.Well() {
			t.Error(faultTexts(r.Faults))
		}
	})
}

func openedDB(t *testing.T, s kv.Store) *kvmodel.DB {
	t.Helper()
	db, err := kvmodel.Open(s)
	must(t, err)
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	return db
}

func TestInspect_ForgetLeavesNothingOfARecordOrSaysWhere(t *testing.T) {
	for _, w := range lossWorlds {
		w.inspected(t, w.furnished(t), func(t *testing.T, l *whole.Library, mem *memkv.Store) {
			const id = "forgotten" // A short one also occurs by chance.
			furnish(t, l, 3, id)
			rest(t, l)
			f, err := inspect.New(l.DB).Forget(ctx, "Work", id, inspect.Pace{})
			must(t, err)
			rest(t, l)
			named := map[string]bool{}
			for _, trace := range f.Traces {
				named[trace.Key] = true
			}
			for key, value := range contents(t, mem) {
				here := strings.Contains(key, id) || bytes.Contains(value, []byte(id))
				if here && !named[key] {
					t.Errorf("%s: %s names it: %q", w.name, key, value)
				}
			}
			for key := range named {
				if strings.HasPrefix(key, "r:Work") || strings.HasPrefix(key, "h:Work") || strings.HasPrefix(key, "u:Work") {
					t.Errorf("%s: %s is a trace", w.name, key)
				}
			}
			if len(named) == 0 {
				t.Errorf("%s: there is a like of it, and nothing was found", w.name)
			}
		})
	}
}

func TestInspect_SweepTakesWhatNoModelHasAndNothingElse(t *testing.T) {
	w := lossWorlds[0]
	w.inspected(t, w.furnished(t), func(t *testing.T, _ *whole.Library, mem *memkv.Store) {
		must(t, mem.Do(ctx, []kv.Op{kv.OpSet("mine:x", []byte("of the app"))}))
		before := contents(t, mem)
		db := openedDB(t, kinds[1].opened(mem))
		whole.NewBare(db, "Work", kvmodel.Gone{})
		in := inspect.New(db)
		all, err := in.Leftovers(ctx, inspect.Pace{})
		must(t, err)
		var names []string
		for _, left := range all {
			names = append(names, left.What)
		}
		for _, name := range []string{"Like", "Offer", "Ticket", "Work.ByAuthor", "Work.BySlug", "Work.Views", "Visit"} {
			if !slices.ContainsFunc(names, func(n string) bool { return n == name || strings.HasPrefix(n, name+".") }) {
				t.Errorf("%s is not among what is left over: %q", name, names)
			}
		}
		n, err := in.Sweep(ctx, []string{"Work.ByAuthor", "Like"}, inspect.Pace{})
		must(t, err)
		if n == 0 {
			t.Error("nothing was deleted")
		}
		after := contents(t, mem)
		for key := range before {
			gone := strings.HasPrefix(key, "l:Work:ByAuthor:") || strings.Contains(key, ":Like:") || strings.HasSuffix(key, ":Like") || strings.HasPrefix(key, "ids:Like#")
			if _, there := after[key]; there == gone && !strings.HasPrefix(key, "out:") && !strings.HasPrefix(key, "line:") {
				t.Errorf("%s: there %t", key, there)
			}
		}
		proof.Ends(t, kvmodel.ErrInvalid)(in.Sweep(ctx, []string{"Works"}, inspect.Pace{}))
	})
}

// byEach works share a list, a ring and a board. Short names of authors keep keys from being
// hashed.
const byEach = 3

type plantedFault struct {
	whole.Planted
	of  *whole.Plant
	met bool // reported as its kind
}

// Each fault has an author of its own.
func plantedAll(t *testing.T, l *whole.Library, mem *memkv.Store, n int) (all []plantedFault) {
	t.Helper()
	work := func(i int) string { return fmt.Sprintf("v%05d", i) }
	var works []*whole.Work
	var likes []*whole.Like
	for i := range n * len(whole.Plants) * byEach {
		works = append(works, &whole.Work{ID: work(i), Slug: "slug-" + work(i), Author: fmt.Sprintf("a%05d", i/byEach), Price: int64(i)})
		likes = append(likes, &whole.Like{User: fmt.Sprint("user-", i%100), Work: work(i)})
	}
	must(t, l.Works.CreateMulti(ctx, works), l.Likes.CreateMulti(ctx, likes))
	rest(t, l)
	for i := range n * len(whole.Plants) {
		plant := &whole.Plants[i%len(whole.Plants)]
		p, err := plant.In(ctx, l, mem, work(i*byEach), work(i*byEach+1))
		must(t, err)
		all = append(all, plantedFault{Planted: p, of: plant})
	}
	time.Sleep(2 * time.Minute)
	return all
}

func TestLong_FaultsOfEachKindAreFoundAndMendedOrNamedAndNothingElse(t *testing.T) {
	t.Parallel()
	n := 1
	switch {
	case proof.All():
		n = 70 // more than a thousand in all
	case proof.Long():
		n = 5
	}
	for w := range proof.Part(t, lossWorlds[:1], lossWorlds) {
		t.Run(w.name, func(t *testing.T) {
			w.inspected(t, nil, func(t *testing.T, l *whole.Library, mem *memkv.Store) {
				planted := plantedAll(t, l, mem, n)
				found := checked(t, l).Faults
				wantFound(t, planted, found)
				done, err := inspect.New(l.DB).Repair(ctx, found, inspect.RepairOptions{})
				must(t, err)
				for _, p := range planted {
					if !p.of.Lost {
						continue
					}
					if !slices.ContainsFunc(done.Left, func(f inspect.Fault) bool { return p.Has(f.ID, f.Key) }) {
						t.Errorf("%s in %s is lost, and the repair does not name it", p.of.Name, p.ID)
					}
					// While it is unknown what a record was, a board that has lost a part cannot be
					// filled.
					must(t, l.Works.Delete(ctx, p.ID))
				}
				rest(t, l)
				wantMended(t, l)
			})
		})
	}
}

func wantFound(t *testing.T, planted []plantedFault, found []inspect.Fault) {
	t.Helper()
	for _, f := range found {
		explained := false
		for i := range planted {
			if p := &planted[i]; p.Has(f.ID, f.Key) {
				explained, p.met = true, p.met || p.of.Kind == f.Kind
			}
		}
		if !explained {
			t.Errorf("nothing of this was planted: %s", faultTexts([]inspect.Fault{f}))
		}
	}
	for _, p := range planted {
		if !p.met {
			t.Errorf("%s in %s%s was not found", p.of.Name, p.ID, p.Base)
		}
	}
}

func wantMended(t *testing.T, l *whole.Library) {
	t.Helper()
	done, err := inspect.New(l.DB).Repair(ctx, checked(t, l).Faults, inspect.RepairOptions{})
	must(t, err)
	rest(t, l)
	if left := checked(t, l); len(done.Left) > 0 || !left.Well() {
		t.Errorf("left once what is lost was deleted: %s\n%s", faultTexts(done.Left), faultTexts(left.Faults))
	}
}

func (k kind) exported(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	k.inspected(t, k.furnished(t), func(t *testing.T, l *whole.Library, _ *memkv.Store) {
		proof.Done(t)(inspect.New(l.DB).Export(ctx, &file, inspect.Pace{}))
	})
	return file.Bytes()
}

func TestExport_WhatIsCutOrDamagedIsRefusedWithWhere(t *testing.T) {
	file := lossWorlds[0].exported(t)
	if _, sum, err := inspect.VerifyExport(bytes.NewReader(file)); err != nil || sum.Records["Work"] != int64(len(whole.WorkIDs)) {
		t.Error("a whole one:", sum, err)
	}
	for _, n := range []int{0, 5, 16, 20, 200, len(file) / 2, len(file) - 1} {
		if _, _, err := inspect.VerifyExport(bytes.NewReader(file[:n])); !errors.Is(err, inspect.ErrBadExport) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	for at := 0; at < len(file); at += 1 + len(file)/500 {
		bad := slices.Clone(file)
		bad[at] ^= 0x10
		_, _, err := inspect.VerifyExport(bytes.NewReader(bad))
		if err == nil || at > 16 && !strings.Contains(err.Error(), "at byte") {
			t.Errorf("flipped at %d: %v", at, err)
		}
	}
	if _, _, err := inspect.VerifyExport(bytes.NewReader(append(slices.Clone(file), 'x'))); !errors.Is(err, inspect.ErrBadExport) {
		t.Error("something follows:", err)
	}
}

func TestImport_OntoRecordsIsRefusedAndMergeKeepsTheHigherRev(t *testing.T) {
	w := lossWorlds[0]
	file := w.exported(t)
	w.inspected(t, nil, func(t *testing.T, l *whole.Library, _ *memkv.Store) {
		must(t, l.Works.Create(ctx, &whole.Work{ID: "w1", Slug: "newer", Author: "newer"}))
		must(t, l.Works.Create(ctx, &whole.Work{ID: "alone", Slug: "alone", Author: "alone"}))
		rest(t, l)
		in := inspect.New(l.DB)
		proof.Ends(t, inspect.ErrNotEmpty)(in.Import(ctx, bytes.NewReader(file), inspect.ImportOptions{}))
		proof.Ends(t, kv.ErrNotFound)(l.Works.Get(ctx, "w2"))
		proof.Done(t)(in.Import(ctx, bytes.NewReader(file), inspect.ImportOptions{Merge: true}))
		rest(t, l)
		for id, author := range map[string]string{"w1": "newer", "alone": "alone", "w2": whole.Authors[2]} {
			if v, err := l.Works.Get(ctx, id); err != nil || v.Author != author {
				t.Errorf("%s: %+v, %v", id, v, err)
			}
		}
		if r := checked(t, l); !r.Well() {
			t.Error(faultTexts(r.Faults))
		}
	})
}

func TestMatrix_OfImports_OneThatIsCutShortNeedsARebuildAndGoesOn(t *testing.T) {
	t.Parallel()
	for i, o := range []inspect.ImportOptions{{Merge: true}, {Replace: true}} {
		for w := range proof.Part(t, lossWorlds[i:i+1], lossWorlds) {
			file := w.exported(t)
			w.inspected(t, nil, func(t *testing.T, l *whole.Library, _ *memkv.Store) {
				in := inspect.New(l.DB)
				proof.Ends(t, inspect.ErrBadExport)(in.Import(ctx, bytes.NewReader(file[:len(file)-30]), o))
				// On a store held alone, a check is a reader that has indexes built.
				if r := checked(t, l); r.Counts["not built"] == 0 && w.name != "alone" {
					t.Error("indexes pass for whole:", r.Counts)
				}
				proof.Done(t)(in.Import(ctx, bytes.NewReader(file), o))
				rest(t, l)
				if r := checked(t, l); !r.Well() {
					t.Error(w.name, faultTexts(r.Faults))
				}
			})
		}
	}
}

func copied(t *testing.T, l *whole.Library, to kind) (other *whole.Library, a, b *inspect.Inspector) {
	t.Helper()
	mem := memkv.New(memkv.Options{})
	powers := to.powers(mem)
	powers.Keys = mem.Powers().Keys
	other = libraryIn(t, still{mem, powers})
	a, b = inspect.New(l.DB), inspect.New(other.DB)
	proof.Done(t)(a.Copy(ctx, b, inspect.ImportOptions{}))
	rest(t, other)
	return other, a, b
}

func TestMatrix_OfCopies_DiffFindsEachChangeAndReplaceMakesTheOtherEqual(t *testing.T) {
	t.Parallel()
	for to := range proof.Part(t, lossWorlds[:1], lossWorlds) {
		from := lossWorlds[1]
		from.inspected(t, from.furnished(t), func(t *testing.T, l *whole.Library, _ *memkv.Store) {
			other, a, b := copied(t, l, to)
			d, err := a.Diff(ctx, b, inspect.Pace{})
			must(t, err)
			if d.All > 0 || d.Same == 0 {
				t.Errorf("%s: %d the same, differences: %v", to.name, d.Same, d.First)
			}
			_, err = l.Works.Update(ctx, "w4", func(v *whole.Work) error {
				v.Title, v.Slug, v.Author = "another", "elsewhere", whole.Authors[0]
				return nil
			})
			must(t, err, l.Likes.Delete(ctx, whole.LikeID{User: whole.Users[1], Work: "w1"}), l.Tickets.Delete(ctx, 2), l.Works.Delete(ctx, "w3"))
			_, err = l.Works.Update(ctx, "w6", func(v *whole.Work) error { v.Slug = "slug-w3"; return nil })
			must(t, err, l.Likes.Create(ctx, &whole.Like{User: whole.Users[1], Work: "w2"}))
			for range 5 {
				proof.Done(t)(l.Works.Views.Hit(ctx, "w5"))
			}
			must(t, other.Works.Create(ctx, &whole.Work{ID: "stranger", Slug: "elsewhere", Author: whole.Authors[1]}))
			rest(t, l)
			rest(t, other)
			d, err = a.Diff(ctx, b, inspect.Pace{})
			must(t, err)
			for _, what := range []string{"Work w4", "Like " + whole.Users[1] + ":w1", "Ticket 2", "Work w5 Views", "Work stranger"} {
				if !slices.ContainsFunc(d.First, func(f inspect.Difference) bool { return f.What == what && f.Says != "" }) {
					t.Errorf("%s: %s is not among %v", to.name, what, d.First)
				}
			}
			proof.Done(t)(a.Copy(ctx, b, inspect.ImportOptions{Replace: true}))
			rest(t, other)
			d, err = a.Diff(ctx, b, inspect.Pace{})
			must(t, err)
			if d.All > 0 || d.Same == 0 {
				t.Errorf("%s: %d the same, differences: %v", to.name, d.Same, d.First)
			}
			if r := checked(t, other); !r.Well() {
				t.Error(to.name, faultTexts(r.Faults))
			}
			should, err := l.Should(ctx)
			must(t, err)
			for _, wrong := range should.Differences(other.Look(ctx)) {
				t.Errorf("%s: %.300s", to.name, wrong)
			}
		})
	}
}

func TestExport_LeavesOutWhatAPeriodIsKeptNoLonger(t *testing.T) {
	w := lossWorlds[0]
	w.inspected(t, nil, func(t *testing.T, l *whole.Library, mem *memkv.Store) {
		must(t, mem.Do(ctx, []kv.Op{kv.OpSet("per:Work:TopViewsPerDay:1999-01-02:w1", []byte("7"))}))
		sum, err := inspect.New(l.DB).Export(ctx, io.Discard, inspect.Pace{})
		must(t, err)
		if sum.Others > 0 {
			t.Errorf("exported: %+v", sum)
		}
	})
}

func repairedWhole(t *testing.T, l *whole.Library, mem *memkv.Store, in *inspect.Inspector, faults []inspect.Fault, lost bool) {
	t.Helper()
	dry := contents(t, mem)
	proof.Done(t)(in.Repair(ctx, faults, inspect.RepairOptions{Dry: true}))
	if fmt.Sprint(contents(t, mem)) != fmt.Sprint(dry) {
		t.Error("a dry run has written")
	}
	done, err := in.Repair(ctx, faults, inspect.RepairOptions{})
	must(t, err)
	rest(t, l)
	left := checked(t, l)
	if left.Well() == lost || len(done.Left) > 0 != lost {
		t.Errorf("left: %s\n%s", faultTexts(left.Faults), faultTexts(done.Left))
	}
	if !lost {
		wantAsRecordsSay(t, l)
	}
}

func TestInspect_ARecordThatNoIdsNameIsNamedAgain(t *testing.T) {
	w := lossWorlds[0]
	w.inspected(t, w.furnished(t), func(t *testing.T, l *whole.Library, mem *memkv.Store) {
		before := valueOf(t, mem, "ids:Like#0")
		must(t, l.Likes.Create(ctx, &whole.Like{User: "u1", Work: "w1"}))
		rest(t, l)
		must(t, mem.Do(ctx, []kv.Op{kv.OpSet("ids:Like#0", before)}))
		found := checked(t, l)
		if found.Counts["unlisted record"] != 1 || len(found.Faults) != 1 {
			t.Errorf("found %v: %s", found.Counts, faultTexts(found.Faults))
		}
		repairedWhole(t, l, mem, inspect.New(l.DB), found.Faults, false)
	})
}

func TestInspect_ATotalThatIsOneTooManyIsCountedAgain(t *testing.T) {
	w := lossWorlds[0]
	w.inspected(t, w.furnished(t), func(t *testing.T, l *whole.Library, mem *memkv.Store) {
		must(t, l.Pieces.Create(ctx, &whole.Piece{ID: "p1", Tags: []string{"red"}}))
		rest(t, l)
		for _, key := range mem.Keys() {
			if strings.HasPrefix(key, "c:Piece:count:") {
				must(t, mem.Do(ctx, []kv.Op{kv.OpIncrement(key, 1)}))
			}
		}
		time.Sleep(2 * time.Minute)
		found := checked(t, l)
		if found.Counts["wrong count"] == 0 {
			t.Errorf("found %v: %s", found.Counts, faultTexts(found.Faults))
		}
		repairedWhole(t, l, mem, inspect.New(l.DB), found.Faults, false)
	})
}

func TestRepair_ManyCountsTakeNoLongerThanOneAndAreToldInOrder(t *testing.T) {
	w := lossWorlds[0]
	items := w.furnished(t)
	counts := slices.DeleteFunc(slices.Sorted(maps.Keys(items)), func(key string) bool { return !strings.HasPrefix(key, "c:Work:Likes:") })
	took := map[int]time.Duration{}
	for _, n := range []int{1, len(counts)} {
		w.inspected(t, items, func(t *testing.T, l *whole.Library, mem *memkv.Store) {
			for _, key := range counts[:n] {
				must(t, mem.Do(ctx, []kv.Op{kv.OpIncrement(key, 1)}))
			}
			found := checked(t, l)
			in := inspect.New(l.DB)
			var want, told []string
			_, err := in.Repair(ctx, found.Faults, inspect.RepairOptions{Dry: true, Done: func(m inspect.Mended) { want = append(want, m.Text) }})
			must(t, err)
			var steps []int64
			o := inspect.RepairOptions{Pace: inspect.Pace{Progress: func(s inspect.Step) { steps = append(steps, s.Done) }}}
			o.Done = func(m inspect.Mended) { told = append(told, m.Text) }
			began := time.Now()
			done, err := in.Repair(ctx, found.Faults, o)
			must(t, err)
			took[n] = time.Since(began)
			if len(found.Faults) != n || done.Mended != n || !slices.Equal(want, told) || !slices.IsSorted(steps) {
				t.Errorf("of %d faults %d mended, told %q in steps %v, want %q", len(found.Faults), done.Mended, told, steps, want)
			}
			before := contents(t, mem)
			if again, err := in.Repair(ctx, found.Faults, inspect.RepairOptions{}); err != nil || again.Mended != n {
				t.Errorf("again: %+v, %v", again, err)
			}
			for key, value := range contents(t, mem) {
				if strings.HasPrefix(key, "c:") && !bytes.Equal(before[key], value) {
					t.Errorf("a second repair has changed %s", key)
				}
			}
		})
	}
	if len(counts) < 8 || took[len(counts)] > 2*took[1] || took[1] == 0 {
		t.Errorf("one of %d counts takes %v, all %v", len(counts), took[1], took[len(counts)])
	}
}
