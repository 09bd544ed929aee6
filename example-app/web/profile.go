package web

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
	return v.show(frame{Title: profile.Member.Handle}, profilePage(profile, member, s.now()), nil)
}
