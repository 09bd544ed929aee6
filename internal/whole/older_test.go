package whole_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// beforeHeads is the release before the enumeration had heads and each index was built
// by itself. It had all definitions that there are now, so nothing of its stores needs
// a rebuild.
const beforeHeads = "testdata/kept/before-heads"

// older calls f with each store that the release before heads has left, at the time
// when it was written.
func older(t *testing.T, f func(t *testing.T, k kind, s kv.Store, was kept)) {
	t.Helper()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, was := keptStore(t, k, beforeHeads)
				f(t, k, s, was)
			})
		})
	}
}

// sound asserts that each answer is one, and neither a loss nor a call for a rebuild.
func sound(t *testing.T, when string, shown whole.Shown) {
	t.Helper()
	for question, answer := range shown {
		if answer == whole.NeedsRebuild || strings.HasPrefix(answer, "error: ") {
			t.Errorf("%s: %s: %s", when, question, answer)
		}
	}
}

// soundly looks at the library from when it is opened until the dead are repaired. It
// never needs a rebuild, and shows what it should in the end.
func soundly(t *testing.T, k kind, s kv.Store, when string, want whole.Shown) {
	t.Helper()
	process(t, k, s, func(l *whole.Library) {
		sound(t, when+", at once", l.Look(ctx))
		for _, wait := range []time.Duration{time.Minute, time.Minute, 2 * time.Hour, time.Minute} {
			time.Sleep(wait)
			must(t, l.DB.Repair(ctx))
		}
		must(t, l.DB.Flush(ctx))
		shown := l.Look(ctx)
		sound(t, when, shown)
		for _, difference := range want.Differences(begunAgain(shown)) {
			t.Errorf("%s: %s", when, difference)
		}
	})
}

func TestOlder_AStoreIsReadBeforeAnythingIsWritten(t *testing.T) {
	older(t, func(t *testing.T, k kind, s kv.Store, was kept) {
		for name, opts := range map[string][]kvmodel.Option{"open": nil, "read only": {kvmodel.ReadOnly()}} {
			l, err := whole.Open(k.opened(s), opts...)
			must(t, err)
			for _, when := range []string{" at once", " after a minute"} {
				shown := l.Look(ctx)
				sound(t, name+when, shown)
				if k.name == "redis" { // All its processes were closed.
					for _, difference := range was.Before.Differences(shown) {
						t.Errorf("%s: %s", name+when, difference)
					}
				}
				time.Sleep(time.Minute)
			}
			must(t, l.DB.Close(ctx))
		}
	})
}

func TestOlder_AStoreIsNeitherLostNorToBeRebuilt(t *testing.T) {
	older(t, func(t *testing.T, k kind, s kv.Store, was kept) {
		soundly(t, k, s, "as it was kept", was.Before)
		change(t, k, s)
		adopted(t, s)
		soundly(t, k, s, "after changes", was.After)
		rebuild(t, k, s)
		soundly(t, k, s, "after Rebuild", was.After)
	})
}

// adopted asserts that s has what the release before heads did not write: a head for
// each enumeration, and its birth in the built item of each model.
func adopted(t *testing.T, s kv.Store) {
	t.Helper()
	for _, model := range []string{"Like", "Offer", "Ticket", "Work"} {
		got, err := kv.GetAll(ctx, s, "ids:"+model, "built:"+model)
		must(t, err, got[0].Err, got[1].Err)
		birth, _, _ := bytes.Cut(got[0].Value, []byte("\x04born"))
		if want := append([]byte("\x11#"), birth[1:]...); !bytes.HasPrefix(got[1].Value, want) {
			t.Errorf("built:%s is %.40q, want %q first", model, got[1].Value, want)
		}
	}
}
