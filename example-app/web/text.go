package web

import (
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/ringtree/ringtree/guard"
)

// markdown supports paragraphs, headings, quotes, lists, code, emphasis and links; the rest is
// text.
var markdown = goldmark.New(goldmark.WithRendererOptions(html.WithHardWraps()), goldmark.WithParser(parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewListParser(), 1), util.Prioritized(parser.NewListItemParser(), 2),
		util.Prioritized(parser.NewATXHeadingParser(), 3), util.Prioritized(parser.NewFencedCodeBlockParser(), 4),
		util.Prioritized(parser.NewBlockquoteParser(), 5), util.Prioritized(parser.NewParagraphParser(), 6),
	),
	parser.WithInlineParsers(
		util.Prioritized(parser.NewCodeSpanParser(), 1), util.Prioritized(parser.NewLinkParser(), 2), util.Prioritized(parser.NewEmphasisParser(), 3),
	),
	parser.WithASTTransformers(util.Prioritized(tame{}, 1)),
)))

func written(words string) templ.Component {
	var b strings.Builder
	// A strings.Builder never fails.
	_ = markdown.Convert([]byte(words), &b)
	return templ.Raw(strings.ReplaceAll(b.String(), "<pre>", `<pre tabindex="0">`)) // The keyboard can scroll it.
}

// tame removes images and unsafe links, and puts headings below those of the page.
type tame struct{}

func (tame) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	var out []ast.Node
	last := 1
	_ = ast.Walk(doc, func(n ast.Node, enters bool) (ast.WalkStatus, error) {
		if !enters {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			last = max(2, min(n.Level, last+1, 3))
			n.Level = last
		case *ast.Image:
			out = append(out, n)
		case *ast.Link:
			n.Title = nil
			n.SetAttributeString("rel", []byte("nofollow ugc noopener"))
			if !safe(string(n.Destination)) {
				out = append(out, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range out {
		for child := n.FirstChild(); child != nil; child = n.FirstChild() {
			n.Parent().InsertBefore(n.Parent(), n, child)
		}
		n.Parent().RemoveChild(n.Parent(), n)
	}
}

func safe(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" || address == guard.Local(address)
}
