package conduit_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/examples/conduit"
	"github.com/ringtree/ringtree/kvmodel"
)

func TestUpdateUser_ChangesWhatIsGiven(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		ctx := t.Context()
		name, bio, password := "anna", "Likes rings.", "another secret"
		u, err := s.UpdateUser(ctx, s.ids["ann"], conduit.UserChange{Username: &name, Bio: &bio, Password: &password})
		must(t, err)
		want := &conduit.Account{ID: s.ids["ann"], Email: "ann@example.com", Username: "anna", Bio: &bio}
		if diff := cmp.Diff(want, u); diff != "" {
			t.Errorf("account mismatch (-want +got):\n%s", diff)
		}
		if err := done(s.Login(ctx, "ann@example.com", "ann's secret")); !errors.Is(err, conduit.ErrWrong) {
			t.Errorf("with the old password: %v", err)
		}
		must(t, done(s.Login(ctx, "ann@example.com", password)))
		if err := done(s.Profile(ctx, "", "ann")); !errors.Is(err, kvmodel.ErrNotFound) {
			t.Errorf("by the old name: %v", err)
		}
		must(t, done(s.Profile(ctx, "", "anna")))
		s.flush()
		must(t, done(s.Register(ctx, conduit.NewUser{Username: "ann", Email: "free@example.com", Password: "secret"})))
	})
}
