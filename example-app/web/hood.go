package web

import (
	"context"
	"net/url"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
)

// hood draws the keys behind one list of the site, or behind the newest pages and the
// ranking. It marks the way to one page or topic.
func (s *Site) hood(v *visit) error {
	query := v.URL.Query()
	looks, err := s.look(v.Context(), query)
	if err != nil {
		return err
	}
	return v.show(pages.Frame{Title: "Under the hood", Here: "/hood", Script: "/live.js"},
		pages.Hood(looks, s.part(), "/live?"+hoodQuery(query).Encode()))
}

// hoodQuery returns what the query of a page under the hood asks for, as the address of
// its stream has it.
func hoodQuery(query url.Values) url.Values {
	kept := url.Values{"hood": {""}}
	for _, name := range []string{"list", "of", "page"} {
		if text := query.Get(name); text != "" {
			kept.Set(name, text)
		}
	}
	return kept
}

// look looks at the list that a query names, or at two that show most.
func (s *Site) look(ctx context.Context, query url.Values) ([]*ashiato.Look, error) {
	if list := query.Get("list"); list != "" {
		l, err := s.app.Look(ctx, list, query.Get("of"))
		return []*ashiato.Look{l}, err
	}
	looks := make([]*ashiato.Look, 2)
	err := s.app.DB().SideBySide(ctx,
		func(ctx context.Context) (err error) { looks[0], err = s.app.Look(ctx, "newest", ""); return err },
		func(ctx context.Context) (err error) {
			looks[1], err = s.app.Look(ctx, "views", query.Get("page"))
			return err
		})
	return looks, err
}

// part returns the part of the store in which the data is.
func (s *Site) part() pages.Part { return pages.Part{Kind: s.config.Kind, Tenant: s.config.Tenant} }
