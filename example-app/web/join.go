package web

import (
	"context"
	"errors"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/templates"
)

var passwordHint = "At least " + number(ashiato.MinPassword) + " characters. A phrase of several words works well."

func newPassword(label, hint string) templates.Field {
	return templates.Field{Name: "password", Label: label, Type: "password", Required: true, Complete: "new-password", Hint: hint}
}

var joining = guard.Limit{What: "sign-ups-from", Times: 100, Per: time.Hour}

func (s *Site) signUpForm(v *visit) error { return s.askToSignUp(v, s.app.NewID(), nil) }

func (s *Site) askToSignUp(v *visit, id string, err error) error {
	form := templates.Form{
		Action: "/signup",
		Fields: []templates.Field{
			{Name: "id", Type: "hidden", Value: id},
			{Name: "next", Type: "hidden", Value: v.next()},
			{
				Name: "handle", Label: "Handle", Value: v.line("handle"), Required: true, Max: ashiato.MaxHandle, Complete: "username",
				Hint: "The name others see. Use letters, digits, hyphens, and underscores.",
			},
			newPassword("Password", passwordHint),
		},
		Buttons: []templates.Button{{Text: "Sign up"}},
	}
	v.refuse(&form, err)
	return v.show(frame{Title: "Sign up"}, signUpPage(form, with("/login", "next", v.next())), nil)
}

func (s *Site) signUp(v *visit) error {
	id, err := v.formID()
	if err != nil {
		return err
	}
	var member *ashiato.Member
	sessions, err := s.sessions.Generation(v.Context(), id)
	if err == nil {
		err = s.app.Allow(v.Context(), guard.Try{Limit: joining, Who: v.from()})
	}
	if err == nil {
		member, err = s.app.SignUp(v.Context(), id, v.line("handle"), v.PostFormValue("password"), v.from())
	}
	if errors.Is(err, ashiato.ErrSentBefore) {
		id = s.app.NewID()
	}
	if err != nil {
		return s.askToSignUp(v, id, err)
	}
	next := v.next()
	if next == "/" {
		next = memberPath(member.Handle)
	}
	return s.begin(v, sessions, next)
}

func (s *Site) logInForm(v *visit) error { return s.askToLogIn(v, nil) }

func (s *Site) askToLogIn(v *visit, err error) error {
	form := templates.Form{
		Action: "/login",
		Fields: []templates.Field{
			{Name: "next", Type: "hidden", Value: v.next()},
			{Name: "handle", Label: "Handle", Value: v.line("handle"), Required: true, Complete: "username"},
			{Name: "password", Label: "Password", Type: "password", Required: true, Complete: "current-password"},
		},
		Buttons: []templates.Button{{Text: "Log in"}},
	}
	v.refuse(&form, err)
	return v.show(frame{Title: "Log in"}, logInPage(form, with("/signup", "next", v.next())), nil)
}

func (s *Site) logIn(v *visit) error {
	var sessions kvsession.Generation
	begin := func(ctx context.Context, id string) (err error) {
		sessions, err = s.sessions.Generation(ctx, id)
		return err
	}
	_, err := s.app.LogIn(v.Context(), v.line("handle"), v.PostFormValue("password"), v.from(), begin)
	if err != nil {
		return s.askToLogIn(v, err)
	}
	return s.begin(v, sessions, v.next())
}

// begin logs a member in under a new cookie, since an attacker may have planted the old one. If
// sessions, the generation read before the password, has changed since, nobody is logged in.
func (s *Site) begin(v *visit, sessions kvsession.Generation, next string) error {
	session, err := v.session()
	if err == nil {
		err = s.sessions.SignInIf(v.Request, v.w, session, sessions)
	}
	return v.redirect(next, err)
}

func (s *Site) logOut(v *visit) error {
	// A damaged session ends as well, so the error does not matter here.
	session, _ := v.session()
	if err := s.sessions.SignOut(v.Request, v.w, session); err != nil {
		return err
	}
	// The browser's next user must not see this member's pages.
	v.w.Header().Set("Clear-Site-Data", `"cache"`)
	return v.redirect("/", nil)
}

func (v *visit) next() string { return guard.Local(v.FormValue("next")) }
