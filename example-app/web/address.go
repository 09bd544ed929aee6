package web

import (
	"net/url"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

// The addresses of what has a page of its own.

func pagePath(slug string) string     { return "/p/" + url.PathEscape(slug) }
func memberPath(handle string) string { return "/m/" + url.PathEscape(handle) }
func topicPath(name string) string    { return "/t/" + url.PathEscape(name) }
func editPath(id string) string       { return "/edit/" + url.PathEscape(id) }
func historyPath(id string) string    { return "/history/" + url.PathEscape(id) }
func restorePath(id string) string    { return "/restore/" + url.PathEscape(id) }

// logInPath returns the address of the form that leads to next.
func logInPath(next string) string { return with("/login", "next", local(next)) }

// rankPath returns the address of part of a ranking, which also shows the neighbors
// of page.
func rankPath(o ashiato.Order, cursor, page string) string {
	return with("/ranking", "span", string(o), "at", cursor, "page", page)
}

// With returns path with a query of names and values. It leaves out those without a value.
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

// local returns path if it leads to this site, and "/" otherwise.
func local(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(path, "/") ||
		strings.HasPrefix(path, "//") || strings.Contains(path, `\`) {
		return "/"
	}
	return path
}
