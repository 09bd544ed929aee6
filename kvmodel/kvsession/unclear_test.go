package kvsession_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestStore_AnUnclearAnswer_IsNeverReportedAsNotDone(t *testing.T) {
	verbs := map[string]func(v *visit) error{
		"Save":       func(v *visit) error { v.Values["a"] = 2; return v.save() },
		"SignIn":     func(v *visit) error { return v.signIn("al") },
		"Regenerate": func(v *visit) error { return v.regenerate() },
		"SignOut":    func(v *visit) error { return v.signOut() },
		"Revoke":     func(v *visit) error { return v.s.Revoke(v.r.Context(), "jo", v.ID) },
		"RevokeAll":  func(v *visit) error { return v.s.RevokeAll(v.r.Context(), "jo") },
	}
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			proof.EachStumble(t, func() kv.Store { return newMem() }, func(t *testing.T, s *proof.Stumble) {
				synctest.Test(t, func(t *testing.T) {
					b := new(browser)
					v := b.mustOpen(t, open(t, s))
					v.Values["a"] = 1
					must(t, v.signIn("jo"))
					old := b.copied()
					v = b.mustOpen(t, open(t, s))
					s.Begin()
					err := verb(v)
					time.Sleep(time.Second)
					must(t, s.Rise())
					now := old.mustOpen(t, open(t, s))
					changed := now.IsNew || now.Values["a"] != 1
					if proof.Denies(err) && changed || errors.Is(err, kv.ErrUnclear) && errors.Is(err, kv.ErrUnavailable) {
						t.Errorf("changed: %t, after: %v", changed, err)
					}
				})
			})
		})
	}
}
