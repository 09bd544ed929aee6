package repair

import (
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
)

type looks struct {
	signs
	at time.Time
}

func newLooks() *looks {
	l := &looks{at: time.Unix(1_700_000_000, 0)}
	l.signs = signs{now: func() time.Time { return l.at }, last: make(map[string]*sign)}
	return l
}

// dead reports whether the other one counts as dead after it has shown ticks.
func (l *looks) dead(ticks ...uint64) (dead bool) {
	for _, tick := range ticks {
		l.at = l.at.Add(15 * time.Second)
		dead = l.isDead("p", tick)
		l.endFirst()
	}
	return dead
}

func TestSigns_AProcessIsDeadOnceItsTickHasNotRisenForTwoLooks(t *testing.T) {
	for _, test := range []struct {
		name  string
		ticks []uint64
		want  bool
	}{
		{"it ticks", []uint64{7, 8, 9, 10}, false},
		{"it has just stopped", []uint64{7, 8, 8}, false},
		{"it has stopped", []uint64{7, 8, 8, 8}, true},
		{"the store goes back once", []uint64{7, 8, 5, 5}, true},
		{"the store goes back and forth", []uint64{7, 8, 5, 8, 5, 8}, true},
		{"the head goes", []uint64{7, 8, 0, 0}, true},
		{"it ticks after the store went back", []uint64{7, 8, 5, 9}, false},
		{"it is slow to do so", []uint64{7, 8, 5, 5, 5, 9}, false},
		{"it was dead", []uint64{8, 8, 8, 9}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			proof.Equal(t, newLooks().dead(test.ticks...), test.want, "dead")
		})
	}
}

func TestSigns_WhatWasRepairedBeforeTheStoreWentBackIsRepairedAgain(t *testing.T) {
	l, all := newLooks(), extent{bytes: 100, known: 3}
	l.dead(8, 8, 8)
	l.cover(journal.Copy{Process: "p", Tick: 8}, repaired, all)
	proof.Equal(t, l.covered(journal.Copy{Process: "p", Tick: 8}, repaired), all, "covered")
	l.dead(5)
	for _, tick := range []uint64{5, 8} {
		if got := l.covered(journal.Copy{Process: "p", Tick: tick}, repaired); got != (extent{}) {
			t.Errorf("the journal at tick %d counts as repaired: %v", tick, got)
		}
	}
	l.cover(journal.Copy{Process: "p", Tick: 5}, repaired, all)
	proof.Equal(t, l.covered(journal.Copy{Process: "p", Tick: 5}, repaired), all, "covered")
}
