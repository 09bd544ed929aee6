package web

import (
	"net/url"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

const (
	titlesOnPage  = 20
	titlesAtField = 8
)

// search shows the pages whose titles begin with what the visitor has typed, or all.
func (s *Site) search(v *visit) (answer, error) {
	found, err := s.app.Search(v.Context(), v.FormValue("q"), v.FormValue("at"), titlesOnPage)
	if err != nil {
		return answer{}, err
	}
	path := searchPath(found.Query)
	page := pages.Listing{
		Title: "Search",
		Words: foundWords(found),
		Rows:  rowsWithTopics(entriesOf(found.Pages), s.app.DB().Now()),
		Pager: pagerOf(found.Prev, found.Next, "Previous", "Next", func(cursor string) string {
			return searchAt(found.Query, cursor)
		}),
		Empty: pages.NoPages,
	}
	if found.Query == "" {
		page.Title = "All titles"
	} else {
		page.Empty = templates.Empty{Words: "Try fewer letters.", Way: templates.Link{Text: "All titles from A to Z", Href: searchPath("")}}
	}
	page.Empty = unlessRebuilding(found.Rebuilding, page.Empty)
	return answer{title: page.Title, here: path, query: found.Query, body: page.Body()}, nil
}

// titles shows the first of those pages alone, for the script of the field.
func (s *Site) titles(v *visit) (answer, error) {
	found, err := s.app.Search(v.Context(), v.FormValue("q"), "", titlesAtField)
	if err != nil {
		return answer{}, err
	}
	part := pages.Titles{Words: foundWords(found)}
	for _, p := range found.Pages {
		part.Links = append(part.Links, templates.Link{Text: p.Title, Href: pagePath(p.Slug)})
	}
	if found.Next != "" {
		part.All = templates.Link{Text: "All titles", Href: searchPath(found.Query)}
	}
	return answer{bare: true, body: part.Body()}, nil
}

func foundWords(f *ashiato.Found) string {
	switch {
	case f.Rebuilding:
		return "The list of titles is being rebuilt."
	case f.Query == "":
		return counted(int64(f.Of), "page", "pages") + " from A to Z. To find one, type the first letters of its title."
	case f.Of == 0 && len(f.Pages) == 0:
		return "No title begins with “" + f.Query + "”."
	}
	return counted(int64(max(f.Of, len(f.Pages))), "title begins", "titles begin") + " with “" + f.Query + "”."
}

func searchPath(query string) string {
	if query == "" {
		return "/search"
	}
	return with("/search", "q", query)
}

func searchAt(query, cursor string) string {
	return "/search?" + url.Values{"q": {query}, "at": {cursor}}.Encode()
}

func entriesOf(found []*ashiato.Page) []ashiato.Entry {
	entries := make([]ashiato.Entry, len(found))
	for i, p := range found {
		entries[i] = ashiato.Entry{Page: p}
	}
	return entries
}
