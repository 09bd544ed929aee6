package whole_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func (k kind) exported(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	k.inspected(t, k.furnished(t), func(t *testing.T, l *whole.Library, _ *memkv.Store) {
		_, err := inspect.New(l.DB).Export(ctx, &file, inspect.Pace{})
		must(t, err)
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
		if _, err := in.Import(ctx, bytes.NewReader(file), inspect.ImportOptions{}); !errors.Is(err, inspect.ErrNotEmpty) {
			t.Error("without merge:", err)
		}
		if _, err := l.Works.Get(ctx, "w2"); !errors.Is(err, kv.ErrNotFound) {
			t.Error("what was refused has left something:", err)
		}
		_, err := in.Import(ctx, bytes.NewReader(file), inspect.ImportOptions{Merge: true})
		must(t, err)
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
				if _, err := in.Import(ctx, bytes.NewReader(file[:len(file)-30]), o); !errors.Is(err, inspect.ErrBadExport) {
					t.Error("a file that is cut:", err)
				}
				// On a store held alone, a check is a reader that has indexes built.
				if r := checked(t, l); r.Counts["not built"] == 0 && w.name != "alone" {
					t.Error("indexes pass for whole:", r.Counts)
				}
				_, err := in.Import(ctx, bytes.NewReader(file), o)
				must(t, err)
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
	_, err := a.Copy(ctx, b, inspect.ImportOptions{})
	must(t, err)
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
				_, err = l.Works.Views.Hit(ctx, "w5")
				must(t, err)
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
			_, err = a.Copy(ctx, b, inspect.ImportOptions{Replace: true})
			must(t, err)
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
	_, err := in.Repair(ctx, faults, inspect.RepairOptions{Dry: true})
	must(t, err)
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
