package web

import "github.com/ringtree/ringtree/example-app/web/pages"

const (
	titlesOnPage  = 20
	titlesAtField = 8
)

// search shows the pages whose titles begin with what the visitor has typed, or all.
func (s *Site) search(v *visit) error {
	found, err := s.app.Search(v.Context(), v.FormValue("q"), v.FormValue("at"), titlesOnPage)
	if err != nil {
		return err
	}
	return v.show(pages.Frame{Title: pages.SearchTitle(found.Query), Query: found.Query}, pages.Search(found, s.now()))
}

// titles shows the first of those pages alone, for the script of the field.
func (s *Site) titles(v *visit) error {
	found, err := s.app.Search(v.Context(), v.FormValue("q"), "", titlesAtField)
	if err != nil {
		return err
	}
	return v.show(pages.Frame{Alone: true}, pages.Titles(found))
}
