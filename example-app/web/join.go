package web

import (
	"errors"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// joining limits how often one address may sign up.
var joining = ashiato.Limit{What: "sign-ups-from", Times: 100, Per: time.Hour}

// signUpForm shows the form for new members.
func (s *Site) signUpForm(v *visit) (answer, error) {
	return s.joining(ashiato.Joining{ID: s.app.NewID()}, s.onward(v, v.FormValue("next")), refused{}), nil
}

// onward returns where a guest goes after logging in.
func (s *Site) onward(v *visit, next string) pages.Onward {
	on := pages.Onward{Next: local(next), SignUp: "/signup", LogIn: "/login"}
	if on.Next == "/" {
		return on
	}
	on.Wish, on.Words = s.wish(v, on.Next)
	on.SignUp, on.LogIn = with("/signup", "next", on.Next), logInPath(on.Next)
	return on
}

// joining shows the form with what was typed, except the password.
func (s *Site) joining(j ashiato.Joining, on pages.Onward, r refused) answer {
	page := pages.SignUp{ID: j.ID, On: on, Notice: r.notice, Fields: templates.Explain(r.problems, []templates.Field{
		{
			Name: "handle", Label: "Handle", Value: j.Handle, Required: true, Max: ashiato.MaxHandle, Complete: "username",
			Hint: "The name others see. Use letters, digits, hyphens, and underscores.",
		},
		{
			Name: "password", Label: "Password", Type: "password", Required: true, Complete: "new-password",
			Hint: "At least " + versionText(ashiato.MinPassword) + " characters. A phrase of several words works well.",
		},
	})}
	return answer{status: r.status, title: "Sign up", body: page.Body()}
}

// signUp creates a member and logs them in.
func (s *Site) signUp(v *visit) (answer, error) {
	id, err := v.formID()
	if err != nil {
		return answer{}, err
	}
	j := ashiato.Joining{ID: id, Handle: v.line("handle"), Password: v.PostFormValue("password")}
	member, err := s.join(v, j)
	if err != nil {
		r := refuse(v, err)
		if errors.Is(err, ashiato.ErrSentBefore) {
			j.ID = s.app.NewID()
		}
		return s.joining(j, s.onward(v, v.PostFormValue("next")), r), nil
	}
	if err := s.begin(v, member); err != nil {
		return answer{}, err
	}
	next := local(v.PostFormValue("next"))
	if next == "/" {
		return answer{to: memberPath(member.Handle)}, nil
	}
	s.fulfill(v, member.ID, next)
	return answer{to: next}, nil
}

func (s *Site) join(v *visit, j ashiato.Joining) (*ashiato.Member, error) {
	if err := s.app.Allow(v.Context(), ashiato.Try{Limit: joining, Who: v.from}); err != nil {
		return nil, err
	}
	return s.app.SignUp(v.Context(), j)
}

// logInForm shows the form for returning members.
func (s *Site) logInForm(v *visit) (answer, error) {
	return loggingIn("", s.onward(v, v.FormValue("next")), refused{}), nil
}

func loggingIn(handle string, on pages.Onward, r refused) answer {
	page := pages.LogIn{On: on, Notice: r.notice, Fields: templates.Explain(r.problems, []templates.Field{
		{Name: "handle", Label: "Handle", Value: handle, Required: true, Complete: "username"},
		{Name: "password", Label: "Password", Type: "password", Required: true, Complete: "current-password"},
	})}
	return answer{status: r.status, title: "Log in", body: page.Body()}
}

// logIn logs a member in and redirects to the page they wanted.
func (s *Site) logIn(v *visit) (answer, error) {
	handle, next := v.line("handle"), local(v.PostFormValue("next"))
	member, err := s.app.LogIn(v.Context(), handle, v.PostFormValue("password"), v.from)
	if err != nil {
		return loggingIn(handle, s.onward(v, next), refuse(v, err)), nil
	}
	if err := s.begin(v, member); err != nil {
		return answer{}, err
	}
	s.fulfill(v, member.ID, next)
	return answer{to: next}, nil
}

// logOut ends the session. Without a session it does nothing.
func (s *Site) logOut(v *visit) (answer, error) {
	// A damaged session ends as well, so the error does not matter here.
	h, _ := v.holder()
	if err := s.sessions.SignOut(v.Request, v.w, h.session); err != nil {
		return answer{}, err
	}
	// The browser's next user must not see this member's pages.
	v.w.Header().Set("Clear-Site-Data", `"cache"`)
	return answer{to: "/"}, nil
}
