package web

func (s *Site) newest(v *visit) error {
	list, err := s.app.Newest(v.Context(), v.FormValue("at"))
	if err != nil {
		return err
	}
	return v.show(frame{Title: "Newest", Here: "/newest"}, newestPage(list, s.now()))
}

func (s *Site) feed(v *visit, member string) error {
	list, err := s.app.Feed(v.Context(), member, v.FormValue("at"))
	if err != nil {
		return err
	}
	return v.show(frame{Title: "Feed", Here: "/feed"}, feedPage(list, s.now()))
}

// search shows the pages whose titles begin with the visitor's input, or all pages.
func (s *Site) search(v *visit) error {
	found, err := s.app.Search(v.Context(), v.FormValue("q"), v.FormValue("at"))
	if err != nil {
		return err
	}
	return v.show(frame{Title: "Search", Query: found.Query}, searchPage(found, s.now()))
}
