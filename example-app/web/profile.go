package web

// profile shows the member whose handle is in the path, and leaves a footprint.
func (s *Site) profile(v *visit) error {
	member, err := v.member()
	if err != nil {
		return err
	}
	profile, err := s.app.Profile(v.Context(), member, v.PathValue("handle"), v.FormValue("at"))
	if err != nil {
		return err
	}
	if v.looks() {
		if err := s.app.Visit(v.Context(), member, profile.Member.ID); err != nil {
			return err
		}
	}
	return v.show(frame{Title: profile.Member.Handle}, profilePage(profile, member, s.now()))
}

// followers shows who follows a member.
func (s *Site) followers(v *visit) error {
	m, err := s.app.Find(v.Context(), v.PathValue("handle"))
	if err != nil {
		return err
	}
	list, err := s.app.Followers(v.Context(), m.ID, v.FormValue("at"))
	if err != nil {
		return err
	}
	return v.show(frame{Title: "Followers of " + m.Handle}, followersPage(m, list))
}
