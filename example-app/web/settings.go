package web

import (
	"context"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/templates"
)

func (s *Site) settings(v *visit, member string) error {
	return s.showSettings(v, member, nil, nil)
}

// The password form has the handle, for password managers.
func (s *Site) showSettings(v *visit, member string, badProfile, badPassword error) error {
	me, err := s.app.Models.Members.Get(v.Context(), member)
	if err != nil {
		return err
	}
	about := me.About
	if badProfile != nil {
		about = v.PostFormValue("about")
	}
	profile := templates.Form{
		Action: "/settings/profile", Buttons: []templates.Button{{Text: "Save profile"}},
		Fields: []templates.Field{
			{Name: "about", Label: "About you", Value: about, Rows: 3, Writing: true, Max: ashiato.MaxAbout, Hint: "Everyone can read this."},
		},
	}
	password := templates.Form{
		Action: "/settings/password", Buttons: []templates.Button{{Text: "Change password"}},
		Fields: []templates.Field{
			{Name: "handle", Type: "hidden", Value: me.Handle, Complete: "username"},
			{Name: "old", Label: "Current password", Type: "password", Required: true, Complete: "current-password"},
			newPassword("New password", passwordHint+" Changing it logs you out everywhere else."),
		},
	}
	v.refuse(&profile, badProfile)
	v.refuse(&password, badPassword)
	return v.show(frame{Title: "Settings"}, settingsPage(profile, password, v.URL.Query().Has("saved")), nil)
}

func (s *Site) describe(v *visit, member string) error {
	if err := v.whole("about"); err != nil {
		return err
	}
	if err := s.app.Describe(v.Context(), member, strings.TrimSpace(v.PostFormValue("about"))); err != nil {
		return s.showSettings(v, member, err, nil)
	}
	return v.redirect("/settings?saved", nil)
}

// passwordChange is the data of an intent.
type passwordChange struct {
	ashiato.PasswordChange
	Keep string // the session to keep
}

func (s *Site) setPassword(ctx context.Context, c passwordChange) error {
	if err := s.app.SetPassword(ctx, c.PasswordChange); err != nil {
		return err
	}
	return s.sessions.RevokeAll(ctx, c.Member, c.Keep)
}

// The intent completes even if the visitor leaves or this process ends.
func (s *Site) changePassword(v *visit, member string) error {
	change, err := s.app.NewPassword(v.Context(), member, v.PostFormValue("old"), v.PostFormValue("password"))
	if err != nil {
		return s.showSettings(v, member, nil, err)
	}
	session, err := v.session()
	if err == nil {
		err = s.sessions.Regenerate(v.Request, v.w, session)
	}
	if err == nil {
		err = s.passwords.Do(context.WithoutCancel(v.Context()), passwordChange{change, session.ID})
	}
	return v.redirect("/settings?saved", err)
}

func (s *Site) endSessions(v *visit, member string) error {
	if err := s.sessions.RevokeAll(context.WithoutCancel(v.Context()), member); err != nil {
		return err
	}
	return s.logOut(v)
}
