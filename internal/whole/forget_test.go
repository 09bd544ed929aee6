package whole_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
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

// Another process changes the person's work during the Purge, and one of its requests arrives late.
// A second Purge must leave nothing.
func TestSweep_AfterALateRequestASecondPurgeLeavesNothing(t *testing.T) {
	var count, at, run int
	world := kvtest.World{MaxSteps: 1_000_000, Fault: func(m kvtest.Moment) kvtest.Fault {
		if m.Client != "other" {
			return kvtest.None
		}
		if count++; count == at {
			return kvtest.Late
		}
		return kvtest.None
	}}
	for _, w := range worlds[:2] {
		t.Run(w.name, func(t *testing.T) {
			world.Powers = w.powers
			proof.Sweep(t, 10, world, func(sim *kvtest.Sim) {
				run++
				count, at = 0, 1+run*17%120
				sim.Do("first", func(s kv.Store) {
					l := opened(s)
					liveOn(t, l)
					must(t, l.DB.Close(ctx))
				})
				sim.Go("other", func(s kv.Store) {
					l := opened(s)
					for i := range 4 {
						// It may fail, and the work may be gone.
						_, _ = l.Works.Update(ctx, person, func(w *whole.Work) error {
							w.Slug, w.Author, w.Tags = fmt.Sprint(person, "other", i), fmt.Sprint(person, "other", i), []string{"all", fmt.Sprint(person, "other", i)}
							w.Price, w.Title = w.Price+10, fmt.Sprint(person, "other", i)
							return nil
						})
					}
					time.Sleep(90 * time.Minute)
					_ = l.DB.Close(ctx)
				})
				var names []string // values of the work when it was deleted, which lead to its places
				sim.Go("purger", func(s kv.Store) {
					l := opened(s)
					must(t, errors.Join(l.Works.Delete(ctx, person), l.DB.Flush(ctx)))
					names = keptNames(t, l)
					for _, wait := range []time.Duration{0, time.Minute, 2 * time.Hour} {
						time.Sleep(wait)
						purge(t, l)
					}
					must(t, l.Likes.Purge(ctx, whole.LikeID{User: "u", Work: person}))
					purge(t, l)
					must(t, l.DB.Close(ctx))
				})
				sim.Wait()
				all := tracesOf(t, sim.Store())
				left := slices.DeleteFunc(slices.Clone(all), func(trace string) bool { return isOfNoName(trace, names) || isEmptied(trace, all) })
				if len(left) > 0 {
					sim.T().Errorf("request %d was late; what is left: %q", at, left)
				}
			})
		})
	}
}

func keptNames(t *testing.T, l *whole.Library) (names []string) {
	t.Helper()
	revisions, err := l.Works.History.Of(ctx, person, 100)
	must(t, err)
	for _, r := range revisions {
		if r.Item != nil {
			names = append(names, r.Item.Author)
		}
	}
	return names
}

// isOfNoName reports whether trace is at a value that no kept version of the work has, so that
// nothing leads there.
func isOfNoName(trace string, names []string) bool {
	key, _, _ := strings.Cut(trace, "=")
	if !strings.HasPrefix(key, "l:Work:By") && !strings.HasPrefix(key, "t:Work:") {
		return false
	}
	place, _, _ := strings.Cut(key, "#")
	return !slices.Contains(names, place[strings.LastIndexByte(place, ':')+1:]) && strings.Contains(place, person)
}

// A list with a head keeps its empty keys, which contain its value.
func isEmptied(trace string, all []string) bool {
	key, value, _ := strings.Cut(trace, "=")
	list, _, _ := strings.Cut(key, "#")
	hasHead := slices.ContainsFunc(all, func(trace string) bool { return strings.HasPrefix(trace, list+"=") })
	return strings.HasPrefix(key, "l:Work:By") && hasHead && !strings.Contains(value, person)
}

func opened(s kv.Store) *whole.Library {
	l, err := whole.Open(s, kvmodel.Clock(time.Now))
	if err != nil {
		panic(err)
	}
	return l
}

// Other changes may be faster for a while, and a late one is open for some seconds.
func purge(t *testing.T, l *whole.Library) {
	t.Helper()
	var err error
	for range 10 {
		if err = l.Works.Purge(ctx, person); err == nil {
			break
		}
		time.Sleep(3 * time.Second)
	}
	must(t, err)
}

func lister(t *testing.T, k kind) (look, use kv.Store) {
	t.Helper()
	if k.atomic {
		s, err := boltkv.Open(filepath.Join(t.TempDir(), "whole.db"), boltkv.Options{})
		must(t, err)
		t.Cleanup(func() { s.Close() })
		return s, still{s, kv.PowersOf(s)}
	}
	program, parameters := "redis-server", ""
	if k.name == "memcached" {
		program, parameters = "memcached", "?volatile=on"
	}
	url := k.name + "://" + servers.Of(t, program).Addr + parameters
	look, err := kvopen.Store(ctx, url, all.Engines)
	must(t, err)
	t.Cleanup(func() { look.Close() })
	use, err = kvopen.Store(ctx, url, all.Engines)
	must(t, err)
	return look, use
}

func TestForget_RealStoresKeepNoByte(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			look, use := lister(t, k)
			var ahead atomic.Int64
			l, err := whole.Open(use, kvmodel.Clock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }))
			must(t, err)
			defer func() { must(t, l.DB.Close(ctx)) }()

			liveOn(t, l)
			proof.Contains(t, strings.Join(tracesOf(t, look), "\n"), "u:Work:BySlug:"+person)
			must(t, l.Likes.Purge(ctx, whole.LikeID{User: "u", Work: person}))
			must(t, l.Works.Purge(ctx, person))
			wantNoTraces(t, look, "what a Purge has left")

			must(t, l.Offers.Create(ctx, &whole.Offer{ID: "7", Code: person, Kind: person, Until: time.Now().Add(48 * time.Hour)}))
			must(t, l.DB.Flush(ctx))
			must(t, l.Offers.Delete(ctx, "7"))
			must(t, l.Tickets.Create(ctx, &whole.Ticket{Text: "next"}))
			must(t, l.DB.Flush(ctx))
			ahead.Store(int64(2 * time.Hour))
			for range 50 {
				must(t, l.DB.Repair(ctx))
				if len(tracesOf(t, look)) == 0 {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
			t.Errorf("after the second cleaning of a Delete there are %q", tracesOf(t, look))
		})
	}
}
