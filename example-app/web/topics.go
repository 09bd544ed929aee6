package web

func (s *Site) topics(v *visit) error {
	table, err := s.app.Topics(v.Context(), v.FormValue("at"))
	return v.show(frame{Title: "Topics", Here: "/topics"}, topicsPage(table), err)
}

func (s *Site) topic(v *visit) error {
	member, err := v.member()
	if err != nil {
		return err
	}
	view, err := s.app.Topic(v.Context(), member, v.PathValue("topic"), v.FormValue("at"))
	if err != nil {
		return err
	}
	return v.show(frame{Title: view.Topic.Name, Here: "/topics"}, topicPage(view, s.now()), nil)
}
