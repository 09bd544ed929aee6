package kvsession_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// One process gives a session a new cookie while another saves the old one and a third signs the
// user out everywhere. Requests fail, time out and arrive late, and a process may crash between any
// two steps.

// renewal is what is known about a request that renews a session.
type renewal struct {
	browser *browser
	err     error
}

func renew(t testing.TB, store kv.Store, b *browser, how func(*visit) error) *renewal {
	v, err := b.open(context.Background(), open(t, store))
	switch {
	case err == nil && v.IsNew:
		err = kvsession.ErrEnded
	case err == nil:
		v.Values["p"] = 1
		err = how(v)
	}
	return &renewal{b, err}
}

// saveOld returns the keys of saves that were acknowledged to a process that had not crashed.
func saveOld(sim *kvtest.Sim, name string, store kv.Store, b *browser) (acked []string) {
	s := open(sim.T(), store)
	for n := range 3 {
		v, err := b.copied().open(context.Background(), s)
		if err != nil || v.IsNew {
			continue
		}
		key := fmt.Sprint(name, n)
		v.Values[key] = n
		if v.save() == nil && !sim.Crashed(name) {
			acked = append(acked, key)
		}
	}
	return acked
}

func holdsAll(v *visit, keys []string) bool {
	for _, key := range keys {
		if _, ok := v.Values[key]; !ok {
			return false
		}
	}
	return true
}

func sweep(t *testing.T, powers kvtest.Powers, revoke bool) {
	proof.Sweep(t, 400, kvtest.Hostile(powers), func(sim *kvtest.Sim) {
		t := sim.T()
		plain := open(t, sim.Store())
		old := signedIn(t, plain, "jo")
		sim.CrashAt("p", 1+sim.Rand().IntN(25))
		var renewed *renewal
		var acked []string
		revokeErr := errors.New("not yet")
		sim.Go("p", func(store kv.Store) { renewed = renew(t, store, old.copied(), (*visit).regenerate) })
		sim.Go("q", func(store kv.Store) { acked = saveOld(sim, "q", store, old) })
		if revoke {
			sim.Go("r", func(store kv.Store) { revokeErr = open(t, store).RevokeAll(context.Background(), "jo") })
		}
		sim.Wait()

		before, after := old.mustOpen(t, plain), renewed.browser.mustOpen(t, plain)
		answered := !sim.Crashed("p")
		if sim.Crashed("q") {
			acked = nil
		}
		switch {
		case revoke && revokeErr == nil && !sim.Crashed("r"):
			if before.user() != "" || answered && after.user() != "" {
				t.Errorf("after RevokeAll: the old cookie is of %q, the new one of %q (%v)", before.user(), after.user(), renewed.err)
			}
		case answered && renewed.err == nil:
			if before.user() != "" {
				t.Error("the old cookie is still good")
			}
			if !revoke && (after.user() != "jo" || after.Values["p"] != 1 || !holdsAll(after, acked)) {
				t.Errorf("the new cookie is of %q; want p and %v in %v", after.user(), acked, after.Values)
			}
		case revoke:
		case before.user() == "jo":
			if !holdsAll(before, acked) {
				t.Errorf("the old session stays; want %v in %v", acked, before.Values)
			}
		case answered && !errors.Is(renewed.err, kv.ErrUnclear):
			t.Errorf("Regenerate failed clearly (%v), and yet the old cookie is of %q", renewed.err, before.user())
		case !answered && !errors.Is(renewed.err, kv.ErrUnclear):
			// It crashed when all was done except the answer.
			if infos, err := plain.List(context.Background(), "jo"); err != nil || len(infos) == 0 {
				t.Errorf("neither the old session nor its successor is left: %v", err)
			}
		}
	})
}

func TestSweep_Regenerate_IsWholeOrNothingOnAServer(t *testing.T) {
	sweep(t, kvtest.ServerPowers, false)
}

func TestSweep_Regenerate_IsWholeOrNothingInAnyOrder(t *testing.T) {
	sweep(t, kvtest.NoPowers, false)
}

func TestSweep_RevokeAll_LeavesNothingThatWasBeingRenewed(t *testing.T) {
	sweep(t, kvtest.NoPowers, true)
}

func TestSweep_RevokeAll_LeavesNothingThatWasBeingRenewedOnAServer(t *testing.T) {
	sweep(t, kvtest.ServerPowers, true)
}

func TestSweep_SignIn_OfADoubleClickOneCounts(t *testing.T) {
	proof.Sweep(t, 400, kvtest.Hostile(kvtest.NoPowers), func(sim *kvtest.Sim) {
		t := sim.T()
		plain, old := open(t, sim.Store()), new(browser)
		old.set(t, plain, "cart", "book")
		var clicks [2]*renewal
		for i, name := range []string{"p", "q"} {
			sim.Go(name, func(store kv.Store) {
				clicks[i] = renew(t, store, old.copied(), func(v *visit) error { return v.signIn("jo") })
			})
		}
		sim.Wait()
		good := 0
		for i, name := range []string{"p", "q"} {
			if sim.Crashed(name) || clicks[i].err != nil {
				continue
			}
			good++
			if v := clicks[i].browser.mustOpen(t, plain); v.user() != "jo" || v.Values["cart"] != "book" {
				t.Errorf("signed in as %q with %v", v.user(), v.Values)
			}
		}
		if v := old.mustOpen(t, plain); good > 1 || v.user() != "" || good == 1 && !v.IsNew {
			t.Errorf("%d clicks signed in; the old cookie: user %q, IsNew %v", good, v.user(), v.IsNew)
		}
	})
}

func TestSweep_Save_WhatWasAcknowledgedStaysUntilTheSessionEnds(t *testing.T) {
	proof.Sweep(t, 400, kvtest.Hostile(kvtest.NoPowers), func(sim *kvtest.Sim) {
		t := sim.T()
		plain := open(t, sim.Store())
		b := signedIn(t, plain, "jo")
		var acked []string
		ends := sim.Rand().IntN(2) == 0
		outErr := errors.New("not yet")
		for _, name := range []string{"p", "q"} {
			sim.Go(name, func(store kv.Store) {
				acked = append(acked, saveOld(sim, name, store, b)...)
			})
		}
		if ends {
			sim.Go("r", func(store kv.Store) {
				v, err := b.copied().open(context.Background(), open(t, store))
				if err == nil {
					outErr = v.signOut()
				}
			})
		}
		sim.Wait()
		v := b.mustOpen(t, plain)
		switch {
		case ends && outErr == nil && !sim.Crashed("r"):
			if !v.IsNew {
				t.Error("a session that was signed out is back")
			}
		case !ends && !holdsAll(v, acked):
			t.Errorf("want %v in %v", acked, v.Values)
		}
	})
}

const passwordKey = "password"

func setPassword(store kv.Store, password string) error {
	_, err := kv.One(context.Background(), store, kv.OpSet(passwordKey, []byte(password)))
	return err
}

func signInWith(t testing.TB, store kv.Store, password string) (b *browser, err error) {
	s, b := open(t, store), new(browser)
	v, err := b.open(context.Background(), s)
	if err != nil {
		return b, err
	}
	g, err := s.Generation(v.r.Context(), "jo")
	if err != nil {
		return b, err
	}
	stored, err := kv.One(v.r.Context(), store, kv.OpGet(passwordKey))
	if err == nil && string(stored.Value) != password {
		err = errors.New("wrong password")
	}
	if err != nil {
		return b, err
	}
	return b, v.signInIf(g)
}

func sweepPasswords(t *testing.T, powers kvtest.Powers) {
	proof.Sweep(t, 400, kvtest.Hostile(powers), func(sim *kvtest.Sim) {
		t := sim.T()
		plain := open(t, sim.Store())
		must(t, setPassword(sim.Store(), "old"))
		var old []*browser
		for _, name := range []string{"p", "q"} {
			sim.Go(name, func(store kv.Store) {
				for range 3 {
					if b, _ := signInWith(t, store, "old"); b.cookie != nil {
						old = append(old, b)
					}
				}
			})
		}
		done := false
		sim.Go("r", func(store kv.Store) {
			err := setPassword(store, "new")
			for range 20 {
				if err == nil {
					err = open(t, store).RevokeAll(context.Background(), "jo")
				}
				if done = err == nil; done {
					return
				}
			}
		})
		sim.Wait()
		if !done {
			must(t, setPassword(sim.Store(), "new"))
			must(t, plain.RevokeAll(context.Background(), "jo"))
		}
		for _, b := range old {
			proof.Equal(t, b.mustOpen(t, plain).user(), "", "a session that was begun with the old password")
		}
		b, err := signInWith(t, sim.Store(), "new")
		if err != nil || b.mustOpen(t, plain).user() != "jo" {
			t.Errorf("with the new password: %v", err)
		}
	})
}

func TestSweep_SignInIf_WithAnOldPasswordDoesNotOutliveRevokeAll(t *testing.T) {
	sweepPasswords(t, kvtest.NoPowers)
}

func TestSweep_SignInIf_WithAnOldPasswordDoesNotOutliveRevokeAllOnAServer(t *testing.T) {
	sweepPasswords(t, kvtest.ServerPowers)
}
