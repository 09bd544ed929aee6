package templates

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// A token is a piece of HTML: a start tag with its attributes, an end tag, or text.
type token struct {
	start      string
	attributes map[string]string
	end        string
	text       string
}

// void holds the elements that have no end tag.
var void = []string{"input", "br"}

// tokens reads HTML as components write it: every element is closed except the
// void ones. An end tag out of order is an error.
func tokens(html string) ([]token, error) {
	decoder := xml.NewDecoder(strings.NewReader("<all>" + html + "</all>"))
	decoder.Strict, decoder.Entity = false, xml.HTMLEntity
	decoder.AutoClose = void
	var all []token
	for {
		next, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return all[1 : len(all)-1], closed(html, all)
		}
		if err != nil {
			return nil, err
		}
		switch next := next.(type) {
		case xml.StartElement:
			t := token{start: next.Name.Local, attributes: map[string]string{}}
			for _, a := range next.Attr {
				t.attributes[a.Name.Local] = a.Value
			}
			all = append(all, t)
		case xml.EndElement:
			if !slices.Contains(void, next.Name.Local) {
				all = append(all, token{end: next.Name.Local})
			}
		case xml.CharData:
			all = append(all, token{text: string(next)})
		default:
			return nil, fmt.Errorf("%T has no place in a component", next)
		}
	}
}

// closed returns an error if the decoder had to close elements itself.
func closed(html string, all []token) error {
	ends := -1 // Do not count the element around all.
	for _, token := range all {
		if token.end != "" {
			ends++
		}
	}
	if written := strings.Count(html, "</"); written != ends {
		return fmt.Errorf("%d elements have an end, %d are closed", ends, written)
	}
	return nil
}

// normal returns html with one tag or text on each line, indented by depth, with
// sorted attributes and without repeated blanks. Two texts with equal results look
// and read alike except for blanks between tags.
func normal(t *testing.T, html string) string {
	t.Helper()
	all, err := tokens(html)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, html)
	}
	var out strings.Builder
	depth := 0
	for _, token := range all {
		line := token.String()
		if token.end != "" {
			depth--
		}
		if line != "" {
			fmt.Fprintf(&out, "%s%s\n", strings.Repeat("  ", depth), line)
		}
		if token.start != "" && !slices.Contains(void, token.start) {
			depth++
		}
	}
	return out.String()
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func (t token) String() string {
	switch {
	case t.end != "":
		return "</" + t.end + ">"
	case t.start == "":
		return escaper.Replace(strings.Join(strings.Fields(t.text), " "))
	}
	line := "<" + t.start
	for _, name := range sortedNames(t.attributes) {
		line += " " + name + `="` + escaper.Replace(t.attributes[name]) + `"`
	}
	return line + ">"
}

func sortedNames(attributes map[string]string) []string {
	var names []string
	for name := range attributes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Elements that are separate from the text before and after them.
var blocks = []string{"p", "div", "li", "h2", "h3"}

// said returns the text of html, without repeated blanks.
func said(t *testing.T, html string) string {
	t.Helper()
	all, err := tokens(html)
	must(t, err)
	var text strings.Builder
	for _, token := range all {
		text.WriteString(token.text)
		if slices.Contains(blocks, token.end) {
			text.WriteString(" ")
		}
	}
	return strings.Join(strings.Fields(text.String()), " ")
}
