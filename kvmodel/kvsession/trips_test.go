package kvsession_test

import (
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
)

func TestStore_TripsAreAsPromised(t *testing.T) {
	s, b := open(t, kv.Count(newMem())), new(browser)
	var v *visit
	var g kvsession.Generation
	for _, step := range []struct {
		name string
		want int
		do   func() error
	}{
		{"Get without a cookie", 0, nil},
		{"Save of nothing", 0, func() error { return v.save() }},
		{"Save of a new session", 1, func() error { v.Values["a"] = 1; return v.save() }},
		{"Get", 1, nil},
		{"Save, unchanged", 0, func() error { return v.save() }},
		{"Save, changed", 1, func() error { v.Values["a"] = 2; return v.save() }},
		{"Save, unchanged since", 0, func() error { return v.save() }},
		{"Save, changed again in the same request", 2, func() error { v.Values["a"] = 3; return v.save() }},
		{"Get again", 1, nil},
		{"SignIn", 2, func() error { return v.signIn("jo") }},
		{"and Save", 0, func() error { return v.save() }},
		{"Get once more", 1, nil},
		{"Regenerate", 2, func() error { return v.regenerate() }},
		{"List", 2, func() error { _, err := s.List(v.r.Context(), "jo"); return err }},
		{"Revoke of another's", 1, func() error { return s.Revoke(v.r.Context(), "al", v.ID) }},
		{"Revoke", 2, func() error { return s.Revoke(v.r.Context(), "jo", v.ID) }},
		{"Get what has ended", 1, nil},
		{"SignIn without a session", 1, func() error { return v.signIn("jo") }},
		{"RevokeAll, others having ended", 6, func() error { return s.RevokeAll(v.r.Context(), "jo") }},
		{"SignOut of what has ended", 1, func() error { return v.signOut() }},
		{"SignIn of another", 1, func() error { return v.signIn("al") }},
		{"RevokeAll", 5, func() error { return s.RevokeAll(v.r.Context(), "al") }},
		{"RevokeAll of nothing", 2, func() error { return s.RevokeAll(v.r.Context(), "al") }},
		{"SignOut", 1, func() error { return v.signOut() }},
		{"Generation", 1, func() (err error) { g, err = s.Generation(v.r.Context(), "jo"); return err }},
		{"SignInIf without a session", 2, func() error { return v.signInIf(g) }},
		{"Get for the last time", 1, nil},
		{"SignInIf", 3, func() error { return v.signInIf(g) }},
	} {
		ctx, meter := kv.Metered(t.Context())
		var err error
		if step.do == nil {
			v, err = b.open(ctx, s)
		} else {
			v.r = v.r.WithContext(ctx)
			err = step.do()
		}
		if got := meter.Cost().Trips; err != nil || got != step.want {
			t.Errorf("%s: want %d trips, got %d, error %v", step.name, step.want, got, err)
		}
	}
}
