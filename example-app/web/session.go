package web

import (
	"errors"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
)

// The session remembers the page that the member saved last. The ranking shows its
// neighbors.
const pageKey = "page"

// remember stores the id of a page for remembered.
func (v *visit) remember(id string) error {
	session, err := v.session()
	if err == nil {
		session.Values[pageKey] = id
	}
	return err
}

// remembered returns the id of the page the member saved last, or "".
func (v *visit) remembered() string {
	session, err := v.session()
	if err != nil {
		return ""
	}
	id, _ := session.Values[pageKey].(string)
	return id
}

// begin logs the member in under a new cookie, and redirects to next. The old cookie becomes
// worthless, because an attacker may have planted it. The session starts out remembering
// the member's newest page. It is one of sessions, which were read before the password: if
// that has changed since, nobody is logged in.
func (s *Site) begin(v *visit, member *ashiato.Member, sessions kvsession.Generation, next string) error {
	session, err := v.session()
	if err != nil {
		return err
	}
	newest, err := s.app.Models.Pages.NewestByAuthor.Of(member.ID).Page(v.Context(), "", 1)
	if err != nil && !errors.Is(err, kvmodel.ErrNeedsRebuild) {
		return err
	}
	for _, page := range newest.Items {
		session.Values[pageKey] = page.ID
	}
	if err := s.sessions.SignInIf(v.Request, v.w, session, sessions); err != nil {
		return err
	}
	s.fulfill(v, member.ID, next)
	return v.redirect(next, nil)
}
