package web

import (
	"errors"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// joining is how often somebody may sign up from one address.
var joining = ashiato.Limit{What: "sign-ups-from", Times: 100, Per: time.Hour}

// signUpForm shows the form of a new member.
func (s *Site) signUpForm(*visit) (answer, error) {
	return s.joining(ashiato.Joining{ID: s.app.NewID()}, refused{}), nil
}

// joining shows the form with what was typed, but for the password.
func (s *Site) joining(j ashiato.Joining, r refused) answer {
	page := pages.SignUp{ID: j.ID, Notice: r.notice, Fields: []templates.Field{
		{
			Name: "handle", Label: "Handle", Value: j.Handle, Error: r.problems["handle"], Required: true, Max: ashiato.MaxHandle, Complete: "username",
			Hint: "What others see: letters from a to z, digits, - and _.",
		},
		{
			Name: "password", Label: "Password", Type: "password", Error: r.problems["password"], Required: true, Complete: "new-password",
			Hint: "At least " + versionText(ashiato.MinPassword) + " characters. A few words in a row are good.",
		},
	}}
	return answer{status: r.status, title: "Sign up", body: page.Body()}
}

// signUp makes a member and signs them in.
func (s *Site) signUp(v *visit) (answer, error) {
	if err := readForm(v); err != nil {
		return answer{}, err
	}
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
		return s.joining(j, r), nil
	}
	if err := s.begin(v, member); err != nil {
		return answer{}, err
	}
	return answer{to: memberPath(member.Handle)}, nil
}

func (s *Site) join(v *visit, j ashiato.Joining) (*ashiato.Member, error) {
	if err := s.app.Allow(v.Context(), ashiato.Try{Limit: joining, Who: v.from}); err != nil {
		return nil, err
	}
	return s.app.SignUp(v.Context(), j)
}

// logInForm shows the form of a member who comes back.
func (s *Site) logInForm(v *visit) (answer, error) {
	return loggingIn("", v.FormValue("next"), refused{}), nil
}

func loggingIn(handle, next string, r refused) answer {
	page := pages.LogIn{Next: local(next), Notice: r.notice, Fields: []templates.Field{
		{Name: "handle", Label: "Handle", Value: handle, Error: r.problems["handle"], Required: true, Complete: "username"},
		{Name: "password", Label: "Password", Type: "password", Error: r.problems["password"], Required: true, Complete: "current-password"},
	}}
	return answer{status: r.status, title: "Log in", body: page.Body()}
}

// logIn signs a member in, and leads to where they wanted to go.
func (s *Site) logIn(v *visit) (answer, error) {
	if err := readForm(v); err != nil {
		return answer{}, err
	}
	handle, next := v.line("handle"), v.PostFormValue("next")
	member, err := s.app.LogIn(v.Context(), handle, v.PostFormValue("password"), v.from)
	if err != nil {
		return loggingIn(handle, next, refuse(v, err)), nil
	}
	if err := s.begin(v, member); err != nil {
		return answer{}, err
	}
	return answer{to: local(next)}, nil
}

// logOut ends the session. Whoever has none is logged out already.
func (s *Site) logOut(v *visit) (answer, error) {
	// A session that is damaged ends as well, so its error does not matter here.
	h, _ := v.holder()
	if err := s.sessions.SignOut(v.Request, v.w, h.session); err != nil {
		return answer{}, err
	}
	// What the browser has kept of pages of this member is not for the next one.
	v.w.Header().Set("Clear-Site-Data", `"cache"`)
	return answer{to: "/"}, nil
}
