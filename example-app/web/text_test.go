package web

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
)

func TestWritten_KeepsWhatIsHarmless(t *testing.T) {
	for text, want := range map[string]string{
		"Two *teeth*, **each**\nof `wood`": "<p>Two <em>teeth</em>, <strong>each</strong><br>\nof <code>wood</code></p>\n",
		"# One\n\n### Two":                 "<h2>One</h2>\n<h3>Two</h3>\n",
		"### One":                          "<h2>One</h2>\n",
		"> snow\n\n- a\n\n1. b":            "<blockquote>\n<p>snow</p>\n</blockquote>\n<ul>\n<li>a</li>\n</ul>\n<ol>\n<li>b</li>\n</ol>\n",
		"```\n<x>\n```":                    "<pre tabindex=\"0\"><code>&lt;x&gt;\n</code></pre>\n",
		"[tea](/p/tea \"title\")":          "<p><a href=\"/p/tea\" rel=\"nofollow ugc noopener\">tea</a></p>\n",
		"[a](javascript:alert(1)) [b](//evil.example/) [c](/\\evil.example) [d](https://me@evil.example)": "<p>a b c d</p>\n",
		"<b>bold</b> ![picture](https://ok.example/p.png) <https://ok.example/>":                          "<p>&lt;b&gt;bold&lt;/b&gt; picture &lt;https://ok.example/&gt;</p>\n",
	} {
		var got strings.Builder
		proof.Must(t, written(text).Render(t.Context(), &got))
		proof.NoDiff(t, cmp.Diff(want, got.String()), "%q", text)
	}
}
