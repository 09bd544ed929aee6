package whole_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// The limits that docs/releases.md names below its table, and when each ends.

func sideBySide(t *testing.T, older, newer app, test func(old, next *running)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m, tr := memkv.New(memkv.Options{}), newLedger()
		old, next := older.run(t, m, tr), newer.run(t, m, tr)
		next.writes(10)
		test(old, next)
		old.ends()
		next.ends()
	})
}

func wantShown(t *testing.T, when string, look asked, want []string) {
	t.Helper()
	got, err := look.show(t.Context())
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%s: %v, mismatch (-want +got):\n%s", when, err, d)
	}
}

func TestReleases_ACounterOutlivesWhatAReleaseWithoutItDeletes(t *testing.T) {
	sideBySide(t, app{}, hits(), func(old, next *running) {
		shown := func(id string, want int64) {
			t.Helper()
			p, err := next.papers.Get(next.Context(), id)
			next.must(err)
			if p.Views != want {
				t.Errorf("%s shows %d hits, want %d", id, p.Views, want)
			}
		}
		for _, id := range []string{"p003", "p005"} {
			for next.all[id].Views < 4 {
				next.hit(id)
			}
			old.delete(id)
		}
		next.must(next.papers.Create(next.Context(), &paper{ID: "p003"}))
		shown("p003", 0)
		old.must(old.papers.Create(old.Context(), &paper{ID: "p005"}))
		shown("p005", 4)
	})
}

func TestReleases_ABoardMissesTheHitsOfAReleaseWithoutIt(t *testing.T) {
	sideBySide(t, hits(), hits(viewed(boardSpec{})), func(old, next *running) {
		board := next.looks[0]
		next.must(next.papers.Rebuild(next.Context()))
		before := board.want(next.ledger)
		old.hit("p003")
		old.hit("p005")
		wantShown(t, "after the hits of the other", board, before)
		next.hit("p003")
		next.must(next.papers.Rebuild(next.Context()))
		wantShown(t, "after a rebuild", board, board.want(next.ledger))
	})
}

func TestReleases_ADerivedCountHasWhatWasCountedUntilARebuild(t *testing.T) {
	sideBySide(t, shows(tags), shows(counted), func(old, next *running) {
		number := func() string {
			n, err := next.db.Derived("Shelf", "Papers").Counts(next.Context(), next.db.Store(), []string{"red"})
			next.must(err)
			return fmt.Sprint(n[0])
		}
		old.writes(10)
		want := next.looks[0].want(next.ledger)
		if got, all := number(), want[len(want)-1]; got >= all {
			t.Errorf("%s of %s are counted beside a release that does not count", got, all)
		}
		next.must(next.papers.Rebuild(next.Context()))
		wantShown(t, "after a rebuild", next.looks[0], want)
	})
}

func TestReleases_PutDoesNotNoticeAChangeOfAReleaseWithoutVersions(t *testing.T) {
	sideBySide(t, app{lacks: "Version"}, app{versions: true}, func(old, next *running) {
		put := func(change func()) error {
			p, err := next.papers.Get(next.Context(), "p003")
			next.must(err)
			change()
			return next.papers.Put(next.Context(), p)
		}
		if err := put(func() { next.change("p003") }); !errors.Is(err, kvmodel.ErrConflict) {
			t.Errorf("after a change of its own release: %v, want ErrConflict", err)
		}
		if err := put(func() { old.change("p003") }); err != nil {
			t.Errorf("after a change of the other: %v", err)
		}
	})
}

func TestReleases_WhatAReleaseWithoutEndsChangesLivesUntilOneWithThemChangesIt(t *testing.T) {
	sideBySide(t, app{lacks: "Until"}, app{expires: true}, func(old, next *running) {
		set := func(id string, until time.Time) error {
			_, err := next.papers.Update(next.Context(), id, func(p *paper) error {
				p.Text += "x"
				if !until.IsZero() {
					p.Until = until
				}
				return nil
			})
			return err
		}
		end := time.Now().Add(time.Minute)
		for _, id := range []string{"p003", "p005"} {
			next.must(set(id, end))
			old.change(id)
		}
		next.must(set("p005", time.Time{}))
		time.Sleep(2 * time.Minute)
		if _, err := next.papers.Get(next.Context(), "p005"); !errors.Is(err, kvmodel.ErrNotFound) {
			t.Errorf("what a release with ends has changed again: %v, want ErrNotFound", err)
		}
		if p, err := next.papers.Get(next.Context(), "p003"); err != nil || !p.Until.Equal(end) {
			t.Errorf("what the other has changed: %v, %v, want one with its old end", p, err)
		}
		if err := set("p003", time.Time{}); !errors.Is(err, kvmodel.ErrInvalid) {
			t.Errorf("a change that leaves the end in the past: %v, want ErrInvalid", err)
		}
		next.must(set("p003", time.Now().Add(time.Hour)))
	})
}
