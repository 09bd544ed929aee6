package templates

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A token is a start tag, an end tag, or text.
type token struct {
	start      string
	attributes map[string]string
	end        string
	text       string
}

var void = []string{"input", "br"}

// tokens returns an error for an element that is not closed, or an end tag out of order.
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

// normal returns html with one tag or text on each line, indented, with sorted attributes and
// without repeated blanks.
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
	for _, name := range slices.Sorted(maps.Keys(t.attributes)) {
		line += " " + name + `="` + escaper.Replace(t.attributes[name]) + `"`
	}
	return line + ">"
}

var blocks = []string{"p", "div", "li", "h2", "h3"}

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
