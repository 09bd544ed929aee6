package web

import (
	"net/url"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/templates"
)

func pagePath(slug string) string     { return "/p/" + url.PathEscape(slug) }
func memberPath(handle string) string { return "/m/" + url.PathEscape(handle) }
func topicPath(name string) string    { return "/t/" + url.PathEscape(name) }
func editPath(id string) string       { return "/edit/" + url.PathEscape(id) }
func historyPath(id string) string    { return "/history/" + url.PathEscape(id) }

func logInPath(next string) string { return with("/login", "next", guard.Local(next)) }

func rankPath(o ashiato.Order, cursor, page string) string {
	return with("/ranking", "span", string(o), "at", cursor, "page", page)
}

// with adds a query without empty values.
func with(path string, query ...string) string {
	values := url.Values{}
	for i := 0; i < len(query); i += 2 {
		if query[i+1] != "" {
			values.Set(query[i], query[i+1])
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

func at(path string) func(cursor string) string {
	return func(cursor string) string { return with(path, "at", cursor) }
}

func pageLink(p *ashiato.Page) templates.Link {
	return templates.Link{Text: p.Title, Href: pagePath(p.Slug)}
}

// A former member has no address.
func linkTo(m *ashiato.Member) templates.Link {
	if m == nil {
		return templates.Link{Text: "former member"}
	}
	return templates.Link{Text: m.Handle, Href: memberPath(m.Handle)}
}

func linksTo(topics []string) []templates.Link {
	return templates.LinksTo("", topicPath(""), topics...)
}
