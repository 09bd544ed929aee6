package markdown

import (
	"net/url"
	"strings"
	"unicode"
)

// inline returns the parts of text, which is nested depth deep in other parts.
func inline(text string, depth int) []Node {
	p := new(parts)
	for text != "" {
		n, length := part(text, depth)
		if length == 0 {
			length = plain(text)
			n = Node{Kind: Text, Text: text[:length]}
		}
		p.add(n)
		text = text[length:]
	}
	p.endText()
	return p.nodes
}

// parts gathers nodes, and joins adjacent texts.
type parts struct {
	nodes []Node
	text  []byte // after the nodes
}

func (p *parts) add(n Node) {
	if n.Kind == Text {
		p.text = append(p.text, n.Text...)
		return
	}
	p.endText()
	p.nodes = append(p.nodes, n)
}

func (p *parts) endText() {
	if len(p.text) > 0 {
		p.nodes = append(p.nodes, Node{Kind: Text, Text: string(p.text)})
		p.text = p.text[:0]
	}
}

const marks = "\\`*[\n"

// plain returns the length of text up to the next mark. It is at least 1: if text
// begins with a mark, that mark has no meaning.
func plain(text string) int {
	if next := strings.IndexAny(text[1:], marks); next >= 0 {
		return 1 + next
	}
	return len(text)
}

// part returns the part that text begins with and its length, or 0 if text does
// not begin with one.
func part(text string, depth int) (Node, int) {
	switch {
	case text[0] == '\n':
		return Node{Kind: Break}, 1
	case text[0] == '\\' && len(text) > 1 && unicode.IsPunct(rune(text[1])):
		return Node{Kind: Text, Text: text[1:2]}, 2
	case text[0] == '`':
		return code(text)
	case depth >= deepest:
		return Node{}, 0
	case strings.HasPrefix(text, "**"):
		return between(text, "**", Strong, depth)
	case text[0] == '*':
		return between(text, "*", Emphasis, depth)
	case text[0] == '[':
		return link(text, depth)
	}
	return Node{}, 0
}

func code(text string) (Node, int) {
	inner, _, closed := strings.Cut(text[1:], "`")
	if !closed || inner == "" {
		return Node{}, 0
	}
	return Node{Kind: Code, Text: inner}, len(inner) + 2
}

// longest is how many bytes an emphasis or a link can have, so the search for its
// end never goes further.
const longest = 2000

// between returns the part between two marks. There is no blank next to the marks
// inside them.
func between(text, mark string, kind Kind, depth int) (Node, int) {
	inner := text[len(mark):min(len(text), longest)]
	end := closing(inner, mark)
	if end < 1 || inner[0] == ' ' || inner[end-1] == ' ' {
		return Node{}, 0
	}
	return Node{Kind: kind, Children: inline(inner[:end], depth+1)}, end + 2*len(mark)
}

// closing returns where in text the mark is that closes it, or -1. A single star
// is not one of a pair of stars.
func closing(text, mark string) int {
	for at := 0; ; at += 2 {
		next := strings.Index(text[at:], mark)
		if next < 0 {
			return -1
		}
		at += next
		if mark == "**" || !strings.HasPrefix(text[at:], "**") {
			return at
		}
	}
}

// link returns the link that text begins with. A link to an address that is not
// safe is text.
func link(text string, depth int) (Node, int) {
	name, rest, _ := strings.Cut(text[1:min(len(text), longest)], "](")
	href, _, closed := strings.Cut(rest, ")")
	if name == "" || strings.ContainsAny(name, "[]") || !closed || !safe(href) {
		return Node{}, 0
	}
	return Node{Kind: Link, Href: href, Children: inline(name, deepest)}, len(name) + len(href) + len("[]()")
}

// safe reports whether a link may lead to href: over http or https, or within the
// site. It allows no backslash, since browsers take it for a slash.
func safe(href string) bool {
	if strings.ContainsFunc(href, func(r rune) bool { return r == '\\' || unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return false
	}
	u, err := url.Parse(href)
	switch {
	case err != nil || u.User != nil:
		return false
	case u.Scheme == "http" || u.Scheme == "https":
		return u.Host != ""
	}
	return u.Scheme == "" && u.Host == "" && strings.HasPrefix(href, "/") && !strings.HasPrefix(href, "//")
}
