package apptest

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

const newPassword = "three bars in the snow"

// enter logs in as heron, and returns the status of the answer.
func (v *visitor) enter(password string) int {
	v.t.Helper()
	return v.post("/login", "handle", "heron", "password", password).status
}

func (v *visitor) changePassword() int {
	v.t.Helper()
	return v.post("/settings/password", "old", password, "password", newPassword).status
}

// atTrip is a store that does something before the trip number n, counted from 0. If dies is
// set, it carries out nothing from then on.
type atTrip struct {
	kvmodel.Store
	mu     sync.Mutex
	n      int
	before func()
	dies   bool
	dead   bool
}

func (s *atTrip) arm(n int, before func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n, s.before = n, before
}

// armToDie is arm for a process that dies before that trip.
func (s *atTrip) armToDie(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n, s.before, s.dies = n, func() {}, true
}

func (s *atTrip) die() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.dead = nil, true
}

func (s *atTrip) Do(ctx context.Context, ops []kv.Op) error {
	s.mu.Lock()
	var now func()
	if s.n--; s.n < 0 && s.before != nil {
		now, s.before, s.dead = s.before, nil, s.dies
	}
	dead := s.dead
	s.mu.Unlock()
	if now != nil {
		now()
	}
	if dead {
		return kv.Fail(ops, kvmodel.ErrUnavailable)
	}
	return s.Store.Do(ctx, ops)
}

// trips is more than a log-in or a change of the password takes.
const trips = 25

func openAtTrip(t *testing.T, store kvmodel.Store) (*atTrip, *kvmodel.DB) {
	t.Helper()
	s := &atTrip{Store: store}
	db, err := kvmodel.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return s, db
}

// breakOff has a new member change the password in a process of its own, and returns a browser
// with a session of the old one. Before the change's trip of that number the process dies, or
// else the connection breaks.
func breakOff(t *testing.T, store kvmodel.Store, trip int, dies bool) (elsewhere *visitor) {
	t.Helper()
	at, db := openAtTrip(t, store)
	s := inside(t, db, development)
	owner, elsewhere := s.member("heron"), s.visitor()
	elsewhere.enter(password)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	if dies {
		at.armToDie(trip)
	} else {
		at.arm(trip, leave)
	}
	owner.ctx = ctx
	owner.changePassword()
	at.arm(0, nil)
	end := t.Context()
	if dies { // Other processes know nothing of this one but what it has stored.
		at.die()
		gone, cancel := context.WithCancel(end)
		cancel()
		end = gone
	}
	if err := db.Close(end); err != nil && !dies {
		t.Error(err)
	}
	return elsewhere
}

func TestLogIn_WhereverTheChangeOfThePasswordComes_TheOldOneIsNoGoodAfterIt(t *testing.T) {
	came := 0
	for trip := range trips {
		store, db := openAtTrip(t, memkv.New(memkv.Options{}))
		s := inside(t, db, development)
		owner, other := s.member("heron"), s.visitor()
		if err := db.Flush(t.Context()); err != nil { // Its trips are not of the log-in.
			t.Error(err)
		}
		var changed atomic.Bool
		store.arm(trip, func() {
			if status := owner.changePassword(); status != http.StatusSeeOther {
				t.Errorf("before trip %d: the change is answered with %d", trip, status)
			}
			changed.Store(true)
		})
		other.enter(password)
		store.arm(0, nil)
		if changed.Load() {
			came++
			if other.signedIn() {
				t.Errorf("changed before trip %d: the old password has logged in", trip)
			}
		}
		if err := db.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if came < 5 || came == trips {
		t.Errorf("the change came in %d of %d runs: a log-in has another number of trips", came, trips)
	}
}

func TestSettings_WhereverTheChangeIsBrokenOff_TheOldSessionsEndWithTheOldPassword(t *testing.T) {
	for _, dies := range []bool{false, true} {
		changes := 0
		for trip := range trips {
			synctest.Test(t, func(t *testing.T) {
				shared := kept{memkv.New(memkv.Options{})}
				elsewhere := breakOff(t, shared, trip, dies)
				_, db := openAtTrip(t, shared)
				next := inside(t, db, development)
				elsewhere = elsewhere.at(next)
				time.Sleep(3 * time.Minute) // The next process finishes the change.
				synctest.Wait()
				changed := next.visitor().enter(newPassword) == http.StatusSeeOther
				if changed == elsewhere.signedIn() {
					t.Errorf("process dead %v, before trip %d: the password has changed: %v, and a session of the old one is alive: %[3]v", dies, trip, changed)
				}
				if changed {
					changes++
				}
				if err := db.Close(context.WithoutCancel(t.Context())); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		if changes == 0 || changes == trips {
			t.Errorf("process dead %v: of %d changes %d were made", dies, trips, changes)
		}
	}
}
