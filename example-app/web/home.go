package web

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
)

// A list without an index of its own shows at most shown records, and looks at
// most at looked of them.
const (
	shown  = 50
	looked = 100
)

// some returns a few of all that keep keeps, whichever come first.
func some[T any](all iter.Seq2[*T, error], keep func(*T) bool) ([]*T, error) {
	var few []*T
	seen := 0
	for v, err := range all {
		if err != nil {
			return nil, err
		}
		if keep(v) {
			few = append(few, v)
		}
		if seen++; len(few) == shown || seen == looked {
			break
		}
	}
	return few, nil
}

type homeData struct {
	Shown   int
	Pages   []*ashiato.Page
	Authors map[string]*ashiato.Member // by id
	Writers []*ashiato.Member          // the same by name
}

// home shows some pages, and who has written them.
func (s *site) home(r *http.Request) (answer, error) {
	pages, err := some(s.pages.All(r.Context()), (*ashiato.Page).Live)
	if err != nil {
		return answer{}, err
	}
	slices.SortFunc(pages, func(a, b *ashiato.Page) int {
		return cmp.Or(b.Edited.Compare(a.Edited), cmp.Compare(a.Slug, b.Slug))
	})
	authors, err := s.authors(r.Context(), pages)
	if err != nil {
		return answer{}, err
	}
	return answer{page: "home", title: "Ashiato", data: homeData{shown, pages, authors, byName(authors)}}, nil
}

// authors returns who has written pages, by id. One trip.
func (s *site) authors(ctx context.Context, pages []*ashiato.Page) (map[string]*ashiato.Member, error) {
	return kvmodel.Load(ctx, s.members.Records, pages, func(p *ashiato.Page) string { return p.Author })
}

func byName(authors map[string]*ashiato.Member) []*ashiato.Member {
	var members []*ashiato.Member
	for _, member := range authors {
		members = append(members, member)
	}
	sortByName(members)
	return members
}

func sortByName(members []*ashiato.Member) {
	slices.SortFunc(members, func(a, b *ashiato.Member) int { return strings.Compare(a.Name(), b.Name()) })
}

// find goes to the page with the address that was asked for.
func (s *site) find(r *http.Request) (answer, error) {
	slug := strings.ToLower(strings.TrimSpace(r.FormValue("slug")))
	if slug == "" {
		return answer{to: "/"}, nil
	}
	return answer{to: pagePath(slug)}, nil
}

func pagePath(slug string) string { return "/p/" + url.PathEscape(slug) }
