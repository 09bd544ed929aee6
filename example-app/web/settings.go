package web

import (
	"context"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/templates"
)

// justDone is what the settings say was just done, by what is in the address.
var justDone = map[string]string{
	"profile":  "Your profile is saved.",
	"password": "Your password is changed, and all other sessions are signed out.",
	"session":  "That session is signed out.",
}

// refusals are the forms of the settings that were refused.
type refusals struct {
	profile, password refused
	about             string // what was typed
	typed             bool
}

// settings shows what a member can change about themselves.
func (s *Site) settings(v *visit) (answer, error) { return s.settingsWith(v, refusals{}) }

func (s *Site) settingsWith(v *visit, r refusals) (answer, error) {
	member, err := v.signedIn()
	if err != nil {
		return answer{}, err
	}
	var infos []kvsession.Info
	var me *ashiato.Member
	err = s.app.DB().SideBySide(v.Context(),
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
			When: "since " + moment(info.SignedIn) + ", last used " + moment(info.Used),
		})
	}
	return all
}

func profileForm(about string, r refused) pages.Form {
	return pages.Form{Notice: r.notice, Fields: []templates.Field{
		{Name: "about", Label: "About you", Value: about, Error: r.problems["about"], Rows: 3, Writing: true, Max: ashiato.MaxAbout, Hint: "Everybody can read it."},
	}}
}

func passwordForm(handle string, r refused) pages.Form {
	return pages.Form{Notice: r.notice, Handle: handle, Fields: []templates.Field{
		{Name: "old", Label: "Present password", Type: "password", Error: r.problems["old"], Required: true, Complete: "current-password"},
		{
			Name: "password", Label: "New password", Type: "password", Error: r.problems["password"], Required: true, Complete: "new-password",
			Hint: "All other sessions are signed out with it.",
		},
	}}
}

// describe saves what members say about themselves.
func (s *Site) describe(v *visit) (answer, error) {
	if err := readForm(v); err != nil {
		return answer{}, err
	}
	member, err := v.signedIn()
	if err != nil {
		return answer{}, err
	}
	about := strings.TrimSpace(v.text("about"))
	if _, err := s.app.Describe(v.Context(), member, about); err != nil {
		return s.settingsWith(v, refusals{profile: refuse(v, err), about: about, typed: true})
	}
	return answer{to: "/settings?done=profile"}, nil
}

// changePassword changes the password, gives this session a new cookie and ends
// all others: whoever knew the old one is out.
func (s *Site) changePassword(v *visit) (answer, error) {
	if err := readForm(v); err != nil {
		return answer{}, err
	}
	member, err := v.signedIn()
	if err != nil {
		return answer{}, err
	}
	err = s.app.ChangePassword(v.Context(), member, v.PostFormValue("old"), v.PostFormValue("password"))
	if err != nil {
		return s.settingsWith(v, refusals{password: refuse(v, err)})
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

// endSession signs one of the member's sessions out; those of others are not
// touched, whatever the form says.
func (s *Site) endSession(v *visit) (answer, error) {
	if err := readForm(v); err != nil {
		return answer{}, err
	}
	member, err := v.signedIn()
	if err != nil {
		return answer{}, err
	}
	id := v.PostFormValue("session")
	if h, err := v.holder(); err == nil && h.session.ID == id {
		return s.logOut(v)
	}
	if err := s.sessions.Revoke(v.Context(), member, id); err != nil {
		return answer{}, err
	}
	return answer{to: "/settings?done=session"}, nil
}

// endSessions signs the member out everywhere, here as well.
func (s *Site) endSessions(v *visit) (answer, error) {
	member, err := v.signedIn()
	if err != nil {
		return answer{}, err
	}
	if err := s.sessions.RevokeAll(v.Context(), member); err != nil {
		return answer{}, err
	}
	return s.logOut(v)
}
