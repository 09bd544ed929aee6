package whole_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// person is in every id and value of the person to forget, and nowhere else.
const person = "jane"

// chosenBy are keys of boards and rings of a value, which stay when these are empty.
var chosenBy = []string{
	"rank:Work:TopPriceByAuthor:", "t:Work:NewestByAuthor:",
	"rank:Parent:TopPriceByAuthor:", "t:Parent:NewestByAuthor:",
}

func isChosenBy(key string, value []byte) bool {
	return slices.ContainsFunc(chosenBy, func(begin string) bool { return strings.HasPrefix(key, begin) }) &&
		!strings.Contains(string(value), person)
}

func tracesOf(t *testing.T, s kv.Store) (found []string) {
	t.Helper()
	must(t, kv.PowersOf(s).Keys(ctx, "", func(keys []string) error {
		results, err := kv.GetAll(ctx, s, keys...)
		for i, r := range results {
			key := keys[i]
			if r.Err == nil && strings.Contains(key+"="+string(r.Value), person) && !isChosenBy(key, r.Value) {
				found = append(found, fmt.Sprintf("%s=%q", key, r.Value))
			}
		}
		return err
	}))
	slices.Sort(found)
	return slices.Compact(found)
}

func wantNoTraces(t *testing.T, s kv.Store, what string) {
	t.Helper()
	if left := tracesOf(t, s); len(left) > 0 {
		t.Errorf("%s: %q", what, left)
	}
}

func liveOn(t *testing.T, l *whole.Library) {
	t.Helper()
	for _, id := range []string{"a", person, "b"} {
		w := &whole.Work{ID: id, Slug: id, Author: id, Tags: []string{"all", id}, Room: "hall", Shelf: 1, Title: id, Note: id, Price: 7, Grade: 1, Taken: time.Now(), Frame: id}
		must(t, l.Works.Create(ctx, w))
		_, err := l.Works.Views.Hit(ctx, id)
		must(t, err)
		must(t, l.Likes.Create(ctx, &whole.Like{User: "u", Work: id}))
		must(t, l.DB.Flush(ctx))
	}
	for i := range 3 {
		_, err := l.Works.Update(ctx, person, func(w *whole.Work) error {
			w.Title, w.Price, w.Frame = fmt.Sprint(person, i), int64(i), fmt.Sprint(person, i)
			w.Author, w.Slug, w.Tags = fmt.Sprint(person, i), fmt.Sprint(person, i), []string{"all", fmt.Sprint(person, i)}
			return nil
		})
		must(t, err)
		must(t, l.DB.Flush(ctx))
	}
}

func eachKind(t *testing.T, some []kind, f func(t *testing.T, k kind, s *memkv.Store)) {
	for _, k := range some {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, k, memkv.New(memkv.Options{})) })
		})
	}
}

func eachLibrary(t *testing.T, f func(t *testing.T, s *memkv.Store, l *whole.Library)) {
	eachKind(t, kinds, func(t *testing.T, k kind, s *memkv.Store) {
		l := opened(k.opened(s))
		f(t, s, l)
		must(t, l.DB.Close(ctx))
	})
}

func TestDelete_LeavesNoValueAfterTheSecondCleaning(t *testing.T) {
	eachLibrary(t, func(t *testing.T, s *memkv.Store, l *whole.Library) {
		o := &whole.Offer{ID: "7", Code: person, Kind: person, Until: time.Now().Add(48 * time.Hour)}
		must(t, l.Offers.Create(ctx, o))
		must(t, l.DB.Flush(ctx))
		must(t, l.Offers.Delete(ctx, "7"))
		must(t, l.DB.Flush(ctx))
		time.Sleep(time.Minute)
		if !strings.Contains(strings.Join(tracesOf(t, s), "\n"), "r:Offer:7=") {
			t.Error("before the second cleaning the tombstone does not name the places")
		}
		time.Sleep(90 * time.Minute)
		wantNoTraces(t, s, "what is left of the values")
	})
}

func TestPurge_LeavesNoByteOfThePerson(t *testing.T) {
	eachLibrary(t, func(t *testing.T, s *memkv.Store, l *whole.Library) {
		liveOn(t, l)
		must(t, l.Likes.Purge(ctx, whole.LikeID{User: "u", Work: person}))
		must(t, l.Works.Purge(ctx, person))
		wantNoTraces(t, s, "what is left")
		must(t, l.Works.Purge(ctx, person))
		works, err := l.Works.TopViews.Page(ctx, "", 10)
		if err != nil || len(works.Items) != 2 {
			t.Errorf("the other works: %d, %v; want 2", len(works.Items), err)
		}
		newest, err := l.Works.Newest.Page(ctx, "", 10)
		if err != nil || len(newest.Items) != 2 {
			t.Errorf("the newest other works: %d, %v; want 2", len(newest.Items), err)
		}
	})
}

func TestPurge_TakesAlsoWhatARecordThatHasEndedLeaves(t *testing.T) {
	eachLibrary(t, func(t *testing.T, s *memkv.Store, l *whole.Library) {
		o := &whole.Offer{ID: "7", Code: person, Kind: person, Until: time.Now().Add(time.Hour)}
		must(t, l.Offers.Create(ctx, o))
		must(t, l.DB.Flush(ctx))
		time.Sleep(70 * time.Minute)
		if !strings.Contains(strings.Join(tracesOf(t, s), "\n"), "r:Offer:7=") {
			t.Error("the record is not kept for a while")
		}
		must(t, l.Offers.Purge(ctx, "7"))
		wantNoTraces(t, s, "what is left")
	})
}

// hooked calls hook before trip number at.
type hooked struct {
	kv.Store
	trips atomic.Int64
	at    int64
	hook  func()
	dead  atomic.Bool
}

func (h *hooked) Powers() kv.Powers { return kv.PowersOf(h.Store) }

func (h *hooked) Do(ctx context.Context, ops []kv.Op) error {
	if h.trips.Add(1) == h.at {
		h.hook()
	}
	if h.dead.Load() {
		return kv.Fail(ops, fmt.Errorf("%w: the process is dead", kv.ErrUnavailable))
	}
	return h.Store.Do(ctx, ops)
}

// during reports whether Purge made trip number at, before which it calls hook.
func during(t *testing.T, at int64, s *memkv.Store, hook func(h *hooked)) bool {
	t.Helper()
	h := &hooked{Store: still{s, kv.Powers{Unless: true, Ordered: true}}}
	l := libraryIn(t, h)
	_, err := l.Works.Get(ctx, "a")
	must(t, err)
	h.at, h.hook = h.trips.Load()+at, func() { hook(h) }
	soon, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err = l.Works.Purge(soon, person)
	there := h.trips.Load() >= h.at
	if err != nil && !there {
		t.Error(err)
	}
	_ = l.DB.Close(soon)
	return there
}

func everyTrip(t *testing.T, f func(t *testing.T, at int64, s *memkv.Store) bool) {
	step := proof.Size[int64](19, 1)
	for at, more := int64(1), true; more && !t.Failed(); at += step {
		more = false
		synctest.Test(t, func(t *testing.T) {
			s := memkv.New(memkv.Options{})
			l := opened(kinds[1].opened(s))
			liveOn(t, l)
			must(t, l.DB.Close(ctx))
			more = f(t, at, s)
			if t.Failed() {
				t.Fatalf("at trip %d", at)
			}
		})
	}
}

func TestSweep_ASecondPurgeFinishesWhatACrashHasLeft(t *testing.T) {
	everyTrip(t, func(t *testing.T, at int64, s *memkv.Store) bool {
		more := during(t, at, s, func(h *hooked) { h.dead.Store(true) })
		l := libraryIn(t, kinds[1].opened(s))
		time.Sleep(2 * time.Hour) // The journal of the dead process is removed by then.
		must(t, l.Works.Purge(ctx, person))
		must(t, l.Likes.Purge(ctx, whole.LikeID{User: "u", Work: person}))
		must(t, l.Works.Purge(ctx, person))
		wantNoTraces(t, s, "what is left")
		must(t, l.DB.Close(ctx))
		return more
	})
}

func TestSweep_WhatIsMadeAgainDuringAPurgeIsWhole(t *testing.T) {
	everyTrip(t, func(t *testing.T, at int64, s *memkv.Store) bool {
		l := libraryIn(t, kinds[1].opened(s))
		made := false
		more := during(t, at, s, func(*hooked) {
			again := &whole.Work{ID: person, Slug: person, Author: "a", Tags: []string{"all"}, Title: "t", Note: "n", Price: 5, Taken: time.Now()}
			made = l.Works.Create(ctx, again) == nil
		})
		if made {
			must(t, l.DB.Flush(ctx))
			wantWhole(t, l)
		}
		must(t, l.DB.Close(ctx))
		return more
	})
}

func wantWhole(t *testing.T, l *whole.Library) {
	t.Helper()
	if v, err := l.Works.BySlug.Find(ctx, person); err != nil || v.ID != person {
		t.Errorf("by its slug: %v", err)
	}
	for name, page := range map[string]func(context.Context, string, int, ...func(*whole.Work) bool) (kvmodel.Listing[whole.Work], error){
		"Newest": l.Works.Newest.Page, "Notes": l.Works.Notes.Page, "NewestByAuthor": l.Works.NewestByAuthor.Of("a").Page,
		"TopPrice": l.Works.TopPrice.Page,
	} {
		found, err := page(ctx, "", 20)
		if err != nil || !slices.ContainsFunc(found.Items, func(w *whole.Work) bool { return w.ID == person }) {
			t.Errorf("%s does not have it: %v", name, err)
		}
	}
	there := false
	for w, err := range l.Works.All(ctx) {
		must(t, err)
		there = there || w.ID == person
	}
	in, err := l.Works.ByTags.Of("all").Size(ctx)
	if !there || in != 3 || err != nil {
		t.Errorf("All has it: %v; its list has %d members, %v; want 3", there, in, err)
	}
	if h, err := l.Works.History.Of(ctx, person, 1); err != nil || len(h) != 1 {
		t.Errorf("its history: %v, %v", h, err)
	}
}

func linesOf(t *testing.T, s kv.Store) []string {
	t.Helper()
	return slices.DeleteFunc(tracesOf(t, s), func(trace string) bool { return !strings.HasPrefix(trace, "line:") })
}

// A line that names a value is written before the change.
func TestJournal_LinesGoSoonAfterADeletion(t *testing.T) {
	eachKind(t, kinds, func(t *testing.T, k kind, s *memkv.Store) {
		var named atomic.Bool
		l := opened(tap{Store: k.opened(s), after: func([]kv.Op) {
			if len(linesOf(t, s)) > 0 {
				named.Store(true)
			}
		}})
		must(t, l.Offers.Create(ctx, &whole.Offer{ID: "7", Code: person, Kind: person, Until: time.Now().Add(48 * time.Hour)}))
		must(t, l.Offers.Delete(ctx, "7"), l.DB.Flush(ctx))
		if got := named.Load(); got == k.atomic {
			t.Errorf("a segment has named the value: %v, want %v", got, !k.atomic)
		}
		time.Sleep(5 * time.Second)
		if left := linesOf(t, s); len(left) > 0 {
			t.Errorf("after 5 s there still are %q", left)
		}
		must(t, l.DB.Close(ctx))
	})
}

func TestJournal_LinesOfTheDeadGoWithinTwoHours(t *testing.T) {
	eachKind(t, kinds[1:], func(t *testing.T, k kind, s *memkv.Store) {
		h := &hooked{Store: k.opened(s)}
		l := opened(h)
		must(t, l.Offers.Create(ctx, &whole.Offer{ID: "7", Code: person, Kind: person, Until: time.Now().Add(48 * time.Hour)}))
		must(t, l.DB.Flush(ctx), l.Offers.Delete(ctx, "7"))
		h.dead.Store(true)
		if len(linesOf(t, s)) == 0 {
			t.Fatal("no line names the value")
		}
		other := opened(k.opened(s))
		if _, err := other.Offers.Get(ctx, "7"); err == nil {
			t.Error("the offer is there")
		}
		time.Sleep(2 * time.Hour)
		if left := linesOf(t, s); len(left) > 0 {
			t.Errorf("after two hours there still are %q", left)
		}
		must(t, other.DB.Close(ctx))
		closeLibrary(l)
	})
}
