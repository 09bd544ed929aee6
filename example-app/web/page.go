package web

import (
	"net/http"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

type pageData struct {
	Page   *ashiato.Page
	Author *ashiato.Member // nil if gone
}

// page shows the page with the slug in the path.
func (s *site) page(r *http.Request) (answer, error) {
	page, err := s.pages.BySlug.Find(r.Context(), r.PathValue("slug"))
	if err != nil {
		return answer{}, err
	}
	authors, err := s.authors(r.Context(), []*ashiato.Page{page})
	if err != nil {
		return answer{}, err
	}
	return answer{page: "page", title: page.Title, data: pageData{page, authors[page.Author]}}, nil
}
