package web

import (
	"cmp"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
)

// ranking shows part of a ranking: of this week, unless the query names another one.
// Beside it, it shows the neighbors of the page that the query names, in the ranking of all
// time, or of the one that the member saved last.
func (s *Site) ranking(v *visit) error {
	order, named, yours := ashiato.ThisWeek, v.FormValue("page"), ""
	if named == "" {
		yours = v.remembered()
	} else {
		order = ashiato.AllTime
	}
	order = cmp.Or(ashiato.Order(v.FormValue("span")), order)
	ranks, err := s.app.Ranking(v.Context(), order, v.FormValue("at"), cmp.Or(named, yours))
	if err != nil {
		return err
	}
	return v.show(pages.Frame{Title: "Ranking", Here: "/ranking"}, pages.Ranking(ranks, named, yours))
}
