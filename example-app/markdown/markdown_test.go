package markdown_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/example-app/markdown"
)

// outline writes nodes in a short form: p(one *em(two)).
func outline(nodes []markdown.Node) string {
	names := map[markdown.Kind]string{
		markdown.Paragraph: "p", markdown.Heading: "h", markdown.Quote: "quote", markdown.List: "ul",
		markdown.Numbered: "ol", markdown.Item: "li", markdown.CodeBlock: "pre", markdown.Text: "",
		markdown.Emphasis: "em", markdown.Strong: "strong", markdown.Code: "code", markdown.Link: "a", markdown.Break: "br",
	}
	var all []string
	for _, n := range nodes {
		inner := n.Text + outline(n.Children)
		switch n.Kind {
		case markdown.Text:
			all = append(all, inner)
		case markdown.Link:
			all = append(all, "a["+n.Href+"]("+inner+")")
		case markdown.Heading:
			all = append(all, "h"+string(rune('0'+n.Level))+"("+inner+")")
		default:
			all = append(all, names[n.Kind]+"("+inner+")")
		}
	}
	return strings.Join(all, "")
}

func TestParse_KnowsItsParts(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"blank lines", "\n \n\t\n", ""},
		{"paragraphs", "one\ntwo\n\nthree", "p(onebr()two)p(three)"},
		{"headings", "# One\n## Two ##\n### *Three*", "h1(One)h2(Two ##)h3(em(Three))"},
		{"no heading", "#one\n#### four", "p(#onebr()#### four)"},
		{"a heading ends a paragraph", "one\n# Two\nthree", "p(one)h1(Two)p(three)"},
		{"list", "- one\n* two\n\n- three", "ul(li(one)li(two))ul(li(three))"},
		{"list with a long item", "- one\n  goes on\n- two", "ul(li(onebr()goes on)li(two))"},
		{"numbered", "1. one\n2) two", "ol(li(one)li(two))"},
		{"quote", "> one\n> - two\nthree", "quote(p(one)ul(li(two)))p(three)"},
		{"quote in a quote", "> > one\n> two", "quote(quote(p(one))p(two))"},
		{"code", "```go\n# <b>\n\n*x*\n```\nafter", "pre(# <b>\n\n*x*)p(after)"},
		{"code without an end", "```\none", "pre(one)"},
		{"emphasis", "a *b* **c** ***", "p(a em(b) strong(c) ***)"},
		{"emphasis in strong", "**a *b* c**", "p(strong(a em(b) c))"},
		{"strong in emphasis", "*a **b** c*", "p(em(a strong(b) c))"},
		{"no emphasis", "2 * 3 * 4, *a, a *b, **", "p(2 * 3 * 4, *a, a *b, **)"},
		{"code in a line", "`*a*` and ` alone", "p(code(*a*) and ` alone)"},
		{"escapes", `\*a\* \[b](/c) \a \`, `p(*a* [b](/c) \a \)`},
		{"links", "[a](https://x.example/y?z=1) [*b*](/p/q#r)", "p(a[https://x.example/y?z=1](a) a[/p/q#r](*b*))"},
		{"half a link", "[a](/b [c] [](/d)", "p([a](/b [c] [](/d))"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, outline(markdown.Parse(test.text))); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParse_LinksLeadToSafePlacesOnly(t *testing.T) {
	for _, href := range []string{
		"javascript:alert(1", "JaVaScRiPt:x", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "mailto:a@b.example",
		"//evil.example", "/\\evil.example", "\\\\evil.example", "http:evil.example", "https://", "http:///x", "page", "", " /p",
		"java\tscript:x", "\x01javascript:x", "https://user:secret@evil.example", "https://x y", "%zz", "#top", "?q=1",
	} {
		text := "[words](" + href + ")"
		for _, n := range markdown.Parse(text) {
			if strings.Contains(outline([]markdown.Node{n}), "a[") {
				t.Errorf("%q: want text, got %s", href, outline([]markdown.Node{n}))
			}
		}
	}
}

func FuzzParse_LosesNoWord(f *testing.F) {
	f.Add("# a\n\n> b\n- c *d* [e](/f) `g`\n```\nh\n```")
	f.Fuzz(func(t *testing.T, text string) {
		words := outline(markdown.Parse(text))
		for _, r := range text {
			if r >= 'a' && r <= 'z' && !strings.ContainsRune(words, r) && !strings.Contains(text, "```") {
				t.Errorf("%q: %q is lost in %q", text, r, words)
			}
		}
	})
}
