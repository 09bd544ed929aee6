package web

// search shows the pages whose titles begin with what the visitor has typed, or all.
func (s *Site) search(v *visit) error {
	found, err := s.app.Search(v.Context(), v.FormValue("q"), v.FormValue("at"))
	if err != nil {
		return err
	}
	return v.show(frame{Title: searchTitle(found.Query), Query: found.Query}, searchPage(found, s.now()))
}
