package web

import "github.com/ringtree/ringtree/example-app/ashiato"

// signedIn returns the id of who is signed in, or errSignedOut.
func (v *visit) signedIn() (string, error) {
	member, err := v.member()
	if err == nil && member == "" {
		return "", errSignedOut
	}
	return member, err
}

// The session remembers which page the ranking is shown around: the one saved
// last.
const pageKey = "page"

// remember makes the page with that id the one that remembered returns.
func (v *visit) remember(id string) error {
	h, err := v.holder()
	if err != nil {
		return err
	}
	h.session.Values[pageKey] = id
	return nil
}

// remembered returns the id of the member's own page, or "".
func (v *visit) remembered() string {
	h, err := v.holder()
	if err != nil {
		return ""
	}
	id, _ := h.session.Values[pageKey].(string)
	return id
}

// begin signs the member in under a new cookie: the old one, which somebody may
// have slipped in, is worth nothing from then on. The ranking is shown around the
// member's newest page.
func (s *Site) begin(v *visit, member *ashiato.Member) error {
	h, err := v.holder()
	if err != nil {
		return err
	}
	newest, err := s.app.Models.Pages.NewestByAuthor.Of(member.ID).Page(v.Context(), "", 1)
	if err != nil {
		return err
	}
	for _, page := range newest.Items {
		h.session.Values[pageKey] = page.ID
	}
	return s.sessions.SignIn(v.Request, v.w, h.session, member.ID)
}
