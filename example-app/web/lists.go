package web

func (s *Site) newest(v *visit) error {
	list, err := s.app.Newest(v.Context(), v.FormValue("at"))
	return v.show(frame{Title: "Newest", Here: "/newest"}, newestPage(list, s.now()), err)
}

func (s *Site) feed(v *visit, member string) error {
	list, err := s.app.Feed(v.Context(), member, v.FormValue("at"))
	return v.show(frame{Title: "Feed", Here: "/feed"}, feedPage(list, s.now()), err)
}

func (s *Site) search(v *visit) error {
	found, err := s.app.Search(v.Context(), v.FormValue("q"), v.FormValue("at"))
	return v.show(frame{Title: "Search", Query: found.Query}, searchPage(found, s.now()), err)
}
