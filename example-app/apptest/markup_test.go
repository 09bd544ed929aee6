package apptest

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

type tag struct {
	name  string // "/p" of an end
	attrs map[string]string
	text  string // up to the next tag
}

func tags(page string) []tag {
	all := []tag{{}} // so that each text follows one
	for tokens := html.NewTokenizer(strings.NewReader(page)); ; {
		kind := tokens.Next()
		switch token := tokens.Token(); kind {
		case html.ErrorToken:
			return all[1:]
		case html.TextToken:
			all[len(all)-1].text += token.Data
		case html.EndTagToken:
			all = append(all, tag{name: "/" + token.Data})
		case html.StartTagToken, html.SelfClosingTagToken:
			attrs := map[string]string{}
			for _, a := range token.Attr {
				attrs[a.Key] = a.Val
			}
			all = append(all, tag{name: token.Data, attrs: attrs})
		}
	}
}

func (t tag) shape() string {
	return strings.Join(append([]string{t.name}, slices.Sorted(maps.Keys(t.attrs))...), " ")
}

// forms has the names and values of fields by action.
func forms(page string) map[string][]string {
	all, open := map[string][]string{}, ""
	for _, t := range tags(page) {
		switch {
		case t.name == "form" && strings.EqualFold(t.attrs["method"], "POST"):
			open = t.attrs["action"]
			all[open] = nil
		case t.name == "/form":
			open = ""
		case open == "":
		case t.name == "input":
			all[open] = append(all[open], t.attrs["name"], t.attrs["value"])
		case t.name == "textarea":
			all[open] = append(all[open], t.attrs["name"], strings.TrimPrefix(t.text, "\n"))
		}
	}
	return all
}

func has(attrs map[string]string, name string) bool { _, ok := attrs[name]; return ok }

func shown(page string) string {
	var all []string
	for _, t := range tags(page) {
		if t.name != "script" && t.name != "style" && t.name != "title" {
			all = append(all, t.text)
		}
	}
	return strings.Join(strings.Fields(strings.Join(all, " ")), " ")
}
