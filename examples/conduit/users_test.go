package conduit_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/examples/conduit"
	"github.com/ringtree/ringtree/kvmodel"
)

func TestRegister_SaysWhichFieldIsTaken(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		for field, n := range map[string]conduit.NewUser{
			"Username": {Username: "ann", Email: "other@example.com", Password: "secret"},
			"Email":    {Username: "other", Email: "ann@example.com", Password: "secret"},
		} {
			err := done(s.Register(t.Context(), n))
			taken, ok := errors.AsType[*kvmodel.TakenError](err)
			if !ok || !errors.Is(err, kvmodel.ErrExists) || taken.Fields[0] != field {
				t.Errorf("%+v: %v; want that the %s is taken", n, err, field)
			}
		}
		s.flush()
		// Who was refused has left nothing behind.
		s.register("other")
	})
}

func TestRegister_SaysWhichFieldsAreBlank(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		err := done(s.Register(t.Context(), conduit.NewUser{Username: "dot"}))
		want := kvmodel.Problems{"email": "can't be blank", "password": "can't be blank"}
		if diff := cmp.Diff(want, kvmodel.ProblemsOf(err)); diff != "" || !errors.Is(err, kvmodel.ErrInvalid) {
			t.Errorf("%v, problems mismatch (-want +got):\n%s", err, diff)
		}
	})
}

func TestLogin_WantsTheRightPassword(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		for _, test := range []struct {
			email, password string
			want            error
		}{
			{"ann@example.com", "ann's secret", nil},
			{"ann@example.com", "bob's secret", conduit.ErrWrong},
			{"ann@example.com", "", conduit.ErrWrong},
			{"nobody@example.com", "ann's secret", conduit.ErrWrong},
		} {
			u, err := s.Login(t.Context(), test.email, test.password)
			if !errors.Is(err, test.want) || err == nil && u.ID != s.ids["ann"] {
				t.Errorf("%s with %q: %v, %v; want %v", test.email, test.password, u, err, test.want)
			}
		}
	})
}

func TestCurrentUser_IsNoneAnyMoreWhereTheAccountIsGone(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		if u, err := s.CurrentUser(t.Context(), s.ids["ann"]); err != nil || u.Email != "ann@example.com" {
			t.Errorf("%+v, %v", u, err)
		}
		if err := done(s.CurrentUser(t.Context(), "made up")); !errors.Is(err, conduit.ErrWrong) {
			t.Errorf("%v, want ErrWrong", err)
		}
	})
}

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

func TestUpdateUser_RefusesWhatIsTakenOrBlank(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		taken, blank := "bob@example.com", ""
		if err := done(s.UpdateUser(t.Context(), s.ids["ann"], conduit.UserChange{Email: &taken})); !errors.Is(err, kvmodel.ErrExists) {
			t.Errorf("another's email: %v", err)
		}
		if err := done(s.UpdateUser(t.Context(), s.ids["ann"], conduit.UserChange{Username: &blank})); !errors.Is(err, kvmodel.ErrInvalid) {
			t.Errorf("no name: %v", err)
		}
		if err := done(s.UpdateUser(t.Context(), s.ids["ann"], conduit.UserChange{Password: &blank})); !errors.Is(err, kvmodel.ErrInvalid) {
			t.Errorf("no password: %v", err)
		}
		u, err := s.Login(t.Context(), "ann@example.com", "ann's secret")
		if err != nil || u.Username != "ann" {
			t.Errorf("afterwards: %+v, %v", u, err)
		}
	})
}

func TestFollow_IsSeenByWhoFollowsAlone(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		ctx := t.Context()
		look := func(viewer string, want bool) {
			t.Helper()
			p, err := s.Profile(ctx, s.ids[viewer], "bob")
			if err != nil || p.Username != "bob" || p.Following != want {
				t.Errorf("to %q: %+v, %v; want following %t", viewer, p, err, want)
			}
		}
		look("ann", false)
		for range 2 { // Twice is once.
			p, err := s.Follow(ctx, s.ids["ann"], "bob")
			if err != nil || !p.Following {
				t.Errorf("followed: %+v, %v", p, err)
			}
		}
		look("ann", true)
		look("cid", false)
		look("", false)
		for range 2 {
			p, err := s.Unfollow(ctx, s.ids["ann"], "bob")
			if err != nil || p.Following {
				t.Errorf("no longer followed: %+v, %v", p, err)
			}
		}
		look("ann", false)
		must(t, done(s.Follow(ctx, s.ids["ann"], "bob")))
		look("ann", true)
	})
}

func TestFollow_OfNobodyIsNotFound(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		for what, err := range map[string]error{
			"profile":  done(s.Profile(t.Context(), s.ids["ann"], "nobody")),
			"follow":   done(s.Follow(t.Context(), s.ids["ann"], "nobody")),
			"unfollow": done(s.Unfollow(t.Context(), s.ids["ann"], "nobody")),
		} {
			e, ok := errors.AsType[*conduit.Error](err)
			if !ok || e.About != "profile" || !errors.Is(err, kvmodel.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}
