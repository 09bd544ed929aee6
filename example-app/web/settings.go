package web

import (
	"context"
	"errors"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/templates"
)

// justDone maps ?done= to the message about what was just done.
var justDone = map[string]string{
	"profile":  "Your profile has been saved.",
	"password": "Your password has been changed. You have been logged out everywhere else.",
}

// settings shows what members can change about themselves.
func (s *Site) settings(v *visit, member string) error {
	return s.showSettings(v, member, nil, nil)
}

// showSettings shows the settings, and why a form was refused: that of the profile, or that of
// the password.
func (s *Site) showSettings(v *visit, member string, badProfile, badPassword error) error {
	me, err := s.app.Models.Members.Get(v.Context(), member)
	if err != nil {
		return err
	}
	about := me.About
	if badProfile != nil {
		about = v.text("about")
	}
	page := settingsPage{
		Done:    justDone[v.URL.Query().Get("done")],
		Profile: profileForm(about), Password: passwordForm(me.Handle),
	}
	v.refuse(&page.Profile, badProfile)
	v.refuse(&page.Password, badPassword)
	return v.show(frame{Title: "Settings"}, page.Body())
}

func profileForm(about string) templates.Form {
	return templates.Form{
		Action: "/settings/profile", Buttons: []templates.Button{{Text: "Save profile"}},
		Fields: []templates.Field{
			{Name: "about", Label: "About you", Value: about, Rows: 3, Writing: true, Max: ashiato.MaxAbout, Hint: "Everyone can read this."},
		},
	}
}

// passwordForm has the handle, too, for password managers.
func passwordForm(handle string) templates.Form {
	return templates.Form{
		Action: "/settings/password", Buttons: []templates.Button{{Text: "Change password"}},
		Fields: []templates.Field{
			{Name: "handle", Type: "hidden", Value: handle, Complete: "username"},
			{Name: "old", Label: "Current password", Type: "password", Required: true, Complete: "current-password"},
			{
				Name: "password", Label: "New password", Type: "password", Required: true, Complete: "new-password",
				Hint: passwordHint + " Changing it logs you out everywhere else.",
			},
		},
	}
}

// describe saves what members say about themselves.
func (s *Site) describe(v *visit, member string) error {
	if err := v.whole("about"); err != nil {
		return err
	}
	_, err := s.app.Describe(v.Context(), member, strings.TrimSpace(v.text("about")))
	if err != nil {
		return s.showSettings(v, member, err, nil)
	}
	return v.redirect("/settings?done=profile", nil)
}

// A passwordChange is what the intent of a change of the password has to know.
type passwordChange struct {
	Change ashiato.PasswordChange
	Keep   string // the session that does not end
}

// setPassword changes the password, and ends all sessions but one. Anyone who knew the old
// password is logged out.
func (s *Site) setPassword(ctx context.Context, c passwordChange) error {
	err := s.app.SetPassword(ctx, c.Change)
	if errors.Is(err, kvmodel.ErrConflict) || errors.Is(err, kvmodel.ErrNotFound) {
		return kvmodel.Refused(err)
	}
	if err != nil {
		return err
	}
	return s.sessions.RevokeAll(ctx, c.Change.Member, c.Keep)
}

// changePassword gives this session a new cookie, and has the password changed. That is done
// to its end although the visitor leaves, or this process ends.
func (s *Site) changePassword(v *visit, member string) error {
	change, err := s.app.NewPassword(v.Context(), member, v.PostFormValue("old"), v.PostFormValue("password"))
	if err != nil {
		return s.showSettings(v, member, nil, err)
	}
	session, err := v.session()
	if err != nil {
		return err
	}
	if err := s.sessions.Regenerate(v.Request, v.w, session); err != nil {
		return err
	}
	err = s.passwords.Do(context.WithoutCancel(v.Context()), passwordChange{change, session.ID})
	return v.redirect("/settings?done=password", err)
}

// endSessions logs the member out everywhere, including here.
func (s *Site) endSessions(v *visit, member string) error {
	if err := s.sessions.RevokeAll(context.WithoutCancel(v.Context()), member); err != nil {
		return err
	}
	return s.logOut(v)
}
