package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// someone is a browser at an address of its own, that needs no network.
type someone struct {
	site    http.Handler
	address string
	cookies []*http.Cookie
}

// send sends a request, and returns the status of the answer.
func (b *someone) send(ctx context.Context, method, path string, fields ...string) int {
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(form.Encode()))
	r.RemoteAddr = b.address + ":1234"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, c := range b.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	b.site.ServeHTTP(w, r)
	if set := w.Result().Cookies(); len(set) > 0 {
		b.cookies = set
	}
	return w.Code
}

func (b *someone) logIn(handle, password string) int {
	return b.send(context.Background(), "POST", "/login", "handle", handle, "password", password)
}

func (b *someone) isLoggedIn() bool { return b.send(context.Background(), "GET", "/settings") == 200 }

const newPassword = "three bars in the snow"

func (b *someone) changePassword(ctx context.Context) int {
	return b.send(ctx, "POST", "/settings/password", "old", password, "password", newPassword)
}

// A street is where the browsers of a test are, each at another address.
type street struct {
	site http.Handler
	app  *ashiato.Site
	mu   sync.Mutex
	n    int
}

func (s *street) next() *someone {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	return &someone{site: s.site, address: fmt.Sprintf("10.0.%d.%d", s.n/250, s.n%250+1)}
}

// signUp returns a browser in which a new member is logged in.
func (s *street) signUp(t *testing.T, handle string) *someone {
	t.Helper()
	b := s.next()
	if got := b.send(t.Context(), "POST", "/signup", "id", s.app.NewID(), "handle", handle, "password", password); got != 303 {
		t.Fatalf("sign up %s: status %d", handle, got)
	}
	return b
}

// onStreet returns a street with a site in db.
func onStreet(t *testing.T, db *kvmodel.DB) *street {
	t.Helper()
	app := ashiato.NewSite(db, cheap)
	site, err := web.New(app, web.Config{Keys: [][]byte{make([]byte, 32)}, Development: true})
	if err != nil {
		t.Fatal(err)
	}
	return &street{site: site, app: app}
}

// Log-ins with the old password, begun before and during the change of it: when it has
// changed, none of them is logged in.
func TestSettings_AChangeOfThePassword_LeavesNoSessionOfTheOldOne(t *testing.T) {
	races := 4
	if proof.Long() {
		races = 40
	}
	onEachStore(t, func(t *testing.T, v *visitor) {
		s := &street{site: v.handler, app: v.app}
		for n := range races {
			handle := fmt.Sprint("bird", n)
			owner := s.signUp(t, handle)
			var others []*someone
			var running sync.WaitGroup
			for i := range 8 {
				other := s.next()
				others = append(others, other)
				if i < 2 {
					other.logIn(handle, password)
				} else {
					running.Go(func() { other.logIn(handle, password) })
				}
			}
			if status := owner.changePassword(t.Context()); status != http.StatusSeeOther {
				t.Errorf("race %d: the change is answered with %d", n, status)
			}
			running.Wait()
			for i, other := range others {
				if other.isLoggedIn() {
					t.Errorf("race %d: log-in %d with the old password is still good", n, i)
				}
			}
			if status := s.next().logIn(handle, newPassword); !owner.isLoggedIn() || status != http.StatusSeeOther {
				t.Errorf("race %d: the member is logged in: %v; with the new password: %d", n, owner.isLoggedIn(), status)
			}
		}
	})
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
func breakOff(t *testing.T, store kvmodel.Store, handle string, trip int, dies bool) (elsewhere *someone) {
	t.Helper()
	at, db := openAtTrip(t, store)
	s := onStreet(t, db)
	owner, elsewhere := s.signUp(t, handle), s.next()
	elsewhere.logIn(handle, password)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	if dies {
		at.armToDie(trip)
	} else {
		at.arm(trip, leave)
	}
	owner.changePassword(ctx)
	at.arm(0, nil)
	if !dies {
		if err := db.Close(t.Context()); err != nil {
			t.Error(err)
		}
		return elsewhere
	}
	at.die()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_ = db.Close(gone) // Other processes know nothing of this one but what it has stored.
	return elsewhere
}

func TestLogIn_WhereverTheChangeOfThePasswordComes_TheOldOneIsNoGoodAfterIt(t *testing.T) {
	came := 0
	for trip := range trips {
		store, db := openAtTrip(t, memkv.New(memkv.Options{}))
		s := onStreet(t, db)
		owner, other := s.signUp(t, "heron"), s.next()
		if err := db.Flush(t.Context()); err != nil { // Its trips are not of the log-in.
			t.Error(err)
		}
		var changed atomic.Bool
		store.arm(trip, func() {
			if status := owner.changePassword(t.Context()); status != http.StatusSeeOther {
				t.Errorf("before trip %d: the change is answered with %d", trip, status)
			}
			changed.Store(true)
		})
		other.logIn("heron", password)
		store.arm(0, nil)
		if changed.Load() {
			came++
			if other.isLoggedIn() {
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

// wantOldOrEnded checks that a change of the password was made as a whole or not at all.
func wantOldOrEnded(t *testing.T, what string, s *street, handle string, elsewhere *someone) (changed bool) {
	t.Helper()
	changed = s.next().logIn(handle, newPassword) == http.StatusSeeOther
	if changed == elsewhere.isLoggedIn() {
		t.Errorf("%s: the password has changed: %v, and a session of the old one is alive: %[2]v", what, changed)
	}
	return changed
}

func TestSettings_WhereverTheConnectionBreaks_TheOldSessionsEndWithTheOldPassword(t *testing.T) {
	changed := 0
	for trip := range trips {
		shared := unclosed{memkv.New(memkv.Options{})}
		elsewhere := breakOff(t, shared, "heron", trip, false)
		_, db := openAtTrip(t, shared)
		next := onStreet(t, db)
		elsewhere.site, next.n = next.site, 100
		if wantOldOrEnded(t, fmt.Sprint("cut before trip ", trip), next, "heron", elsewhere) {
			changed++
		}
		if err := db.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if changed == 0 || changed == trips {
		t.Errorf("of %d changes %d were made", trips, changed)
	}
}

func TestSettings_WhereverTheProcessDies_TheOldSessionsEndWithTheOldPassword(t *testing.T) {
	changed := 0
	for trip := range trips {
		synctest.Test(t, func(t *testing.T) {
			shared := unclosed{memkv.New(memkv.Options{})}
			elsewhere := breakOff(t, shared, "heron", trip, true)
			_, db := openAtTrip(t, shared)
			next := onStreet(t, db)
			elsewhere.site, next.n = next.site, 100
			time.Sleep(3 * time.Minute)
			synctest.Wait()
			if wantOldOrEnded(t, fmt.Sprint("killed before trip ", trip), next, "heron", elsewhere) {
				changed++
			}
			if err := db.Close(context.WithoutCancel(t.Context())); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	if changed == 0 || changed == trips {
		t.Errorf("of %d changes %d were made", trips, changed)
	}
}

// 40 processes that die and 40 connections that break, each during the change of another
// password, on servers: when the survivor has finished the changes, no session of an old
// password is alive.
func TestMatrix_OfKillsOnServers_TheOldSessionsEndWithTheOldPassword(t *testing.T) {
	for name := range proof.Part(t, nil, []string{"memcached", "redis-server"}) {
		t.Run(name, func(t *testing.T) {
			servers.Need(t, name)
			url := ""
			if name == "memcached" {
				url = "memcached://" + started(t, func() (*servers.Process, error) { return servers.Memcached() }).Addr
			} else {
				url = "redis://" + started(t, func() (*servers.Process, error) { return servers.Redis() }).Addr
			}
			db, err := kvopen.Open(t.Context(), url, all.Engines)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close(context.WithoutCancel(t.Context()))
			survivor, elsewhere := onStreet(t, db), []*someone{}
			survivor.n = 100
			for n := range 80 {
				store, err := kvopen.Store(t.Context(), url, all.Engines)
				if err != nil {
					t.Fatal(err)
				}
				elsewhere = append(elsewhere, breakOff(t, store, fmt.Sprint("bird", n), n/2, n%2 == 0))
				store.Close()
			}
			changed, until := 0, time.Now().Add(5*time.Minute)
			for n, other := range elsewhere {
				other.site = survivor.site
				handle := fmt.Sprint("bird", n)
				for other.isLoggedIn() && survivor.next().logIn(handle, newPassword) == http.StatusSeeOther && time.Now().Before(until) {
					time.Sleep(time.Second) // The survivor has not carried it out yet.
				}
				if wantOldOrEnded(t, fmt.Sprint("change ", n), survivor, handle, other) {
					changed++
				}
			}
			t.Logf("of 80 changes that were broken off %d were made: 0 sessions of an old password are alive", changed)
		})
	}
}

// unclosed is a store that other processes use, too.
type unclosed struct{ kvmodel.Store }

func (unclosed) Close() error { return nil }
