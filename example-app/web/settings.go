package web

import (
	"context"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/templates"
)

// justDone maps ?done= to the message about what was just done.
var justDone = map[string]string{
	"profile":  "Your profile has been saved.",
	"password": "Your password has been changed. You have been logged out everywhere else.",
	"session":  "That session has been logged out.",
}

// refusals describes the forms that were refused.
type refusals struct {
	profile, password refused
	about             string // what was typed
	typed             bool
}

// settings shows what members can change about themselves.
func (s *Site) settings(v *visit, member string) (answer, error) {
	return s.settingsWith(v, member, refusals{})
}

func (s *Site) settingsWith(v *visit, member string, r refusals) (answer, error) {
	var infos []kvsession.Info
	var me *ashiato.Member
	err := s.app.DB().SideBySide(v.Context(),
		func(ctx context.Context) (err error) { infos, err = s.sessions.List(ctx, member); return err },
		func(ctx context.Context) (err error) { me, err = s.app.Models.Members.Get(ctx, member); return err })
	if err != nil {
		return answer{}, err
	}
	about := me.About
	if r.typed {
		about = r.about
	}
	page := pages.Settings{
		Done:     justDone[v.URL.Query().Get("done")],
		Sessions: sessionsOf(v, infos),
		Profile:  profileForm(about, r.profile),
		Password: passwordForm(me.Handle, r.password),
	}
	return answer{status: max(r.profile.status, r.password.status), title: "Settings", body: page.Body()}, nil
}

func sessionsOf(v *visit, infos []kvsession.Info) []pages.Session {
	h, err := v.holder()
	if err != nil {
		return nil
	}
	var all []pages.Session
	for _, info := range infos {
		all = append(all, pages.Session{
			ID: info.ID, Label: strings.TrimSpace(info.Label), This: info.ID == h.session.ID,
			When: "Logged in " + moment(info.SignedIn) + " · last used " + moment(info.Used),
		})
	}
	return all
}

func profileForm(about string, r refused) templates.Form {
	return templates.Form{
		Action: "/settings/profile", Notice: r.notice, Buttons: []templates.Button{{Text: "Save profile"}},
		Fields: templates.Explain(r.problems, []templates.Field{
			{Name: "about", Label: "About you", Value: about, Rows: 3, Writing: true, Max: ashiato.MaxAbout, Hint: "Everyone can read this."},
		}),
	}
}

// passwordForm has the handle, too, for password managers.
func passwordForm(handle string, r refused) templates.Form {
	return templates.Form{
		Action: "/settings/password", Notice: r.notice, Buttons: []templates.Button{{Text: "Change password"}},
		Fields: templates.Explain(r.problems, []templates.Field{
			{Name: "handle", Type: "hidden", Value: handle, Complete: "username"},
			{Name: "old", Label: "Current password", Type: "password", Required: true, Complete: "current-password"},
			{
				Name: "password", Label: "New password", Type: "password", Required: true, Complete: "new-password",
				Hint: "Changing it logs you out everywhere else.",
			},
		}),
	}
}

// describe saves what members say about themselves.
func (s *Site) describe(v *visit, member string) (answer, error) {
	about := strings.TrimSpace(v.text("about"))
	if _, err := s.app.Describe(v.Context(), member, about); err != nil {
		return s.settingsWith(v, member, refusals{profile: refuse(v, err), about: about, typed: true})
	}
	return answer{to: "/settings?done=profile"}, nil
}

// changePassword changes the password, gives this session a new cookie and ends all
// others. Anyone who knew the old password is logged out.
func (s *Site) changePassword(v *visit, member string) (answer, error) {
	err := s.app.ChangePassword(v.Context(), member, v.PostFormValue("old"), v.PostFormValue("password"))
	if err != nil {
		return s.settingsWith(v, member, refusals{password: refuse(v, err)})
	}
	h, err := v.holder()
	if err != nil {
		return answer{}, err
	}
	if err := s.sessions.Regenerate(v.Request, v.w, h.session); err != nil {
		return answer{}, err
	}
	if err := s.sessions.RevokeAll(v.Context(), member, h.session.ID); err != nil {
		return answer{}, err
	}
	return answer{to: "/settings?done=password"}, nil
}

// endSession ends one of the member's sessions. It cannot end those of others,
// whatever the form says.
func (s *Site) endSession(v *visit, member string) (answer, error) {
	id := v.PostFormValue("session")
	if h, err := v.holder(); err == nil && h.session.ID == id {
		return s.logOut(v)
	}
	if err := s.sessions.Revoke(v.Context(), member, id); err != nil {
		return answer{}, err
	}
	return answer{to: "/settings?done=session"}, nil
}

// endSessions logs the member out everywhere, including here.
func (s *Site) endSessions(v *visit, member string) (answer, error) {
	if err := s.sessions.RevokeAll(v.Context(), member); err != nil {
		return answer{}, err
	}
	return s.logOut(v)
}
