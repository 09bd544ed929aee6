package whole_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

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
