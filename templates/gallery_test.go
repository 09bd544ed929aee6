package templates

import (
	"context"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/a-h/templ"
)

var gallery = flag.String("gallery", "", "write a page with every component, light and dark, to this file")

// The sample of a name replaces that name in brackets.
const galleryPage = `<a class="skip" href="#main">Skip to the page</a><header class="site"><div>
<a class="name" href="/">[mark]Ashiato</a>
<nav aria-label="Main"><a href="/feed">Feed</a><a href="/ranking" aria-current="page">Ranking</a><a href="/topics">Topics</a><a href="/footprints">Footprints[unread]</a></nav>
[search]
<div class="end">[button][seal]</div>
</div></header>
<main class="page" id="main">
<div><h1>Small pages by people nearby</h1><p class="lead">3,456 pages by 812 people. <a href="/new">12 are new</a> since you looked yesterday evening.</p></div>
<div class="columns home"><section>[head-key][feed][pager-first][listing][listing-empty]</section><section>[head][ranks-aside]</section></div>
<div class="columns"><section>[tabs][ranks][pager]</section><section class="aside"><div class="head"><h2>Around you</h2><p>top 12%</p></div>[around]</section></div>
<div class="columns"><div class="stack"><article><h1>The figure two in the snow</h1><p class="lead"><a href="/papercrane">papercrane</a>, 18 January, edited twice</p>
[facts]<div class="prose"><p>My grandmother kept one pair of wooden clogs for the garden, and on the first white morning of the year she would walk to the gate and back, only so that we could look at what she had left behind.</p><blockquote><p>Snow in the morning.<br/>The figure two, the figure two:<br/>the marks of clogs.</p></blockquote></div>[tags]<p class="after">[button-quiet]</p></article>
<ul class="rows"><li><div class="gutter">[seal]</div><div class="remark"><p class="meta">papercrane · yesterday</p><p>His twos always looked as if they were leaning into the wind.</p></div></li></ul>
<div>[footprints]</div></div>
<div class="aside stack">[card]<p class="who">[seal-large]<a href="/papercrane">papercrane</a></p>[ruler][ruler-one]<p>[unread-many] [button-quiet]</p></div></div>
<div class="narrow stack">[notice][changes]<form id="edit">[field][field-text][field-wrong][field-checked]</form>[form][form-here][prose][empty][failure]</div>
<div class="columns even"><section>[head-key][ring]</section><section>[head-key][tree]</section></div>
<div class="columns even"><section>[head-key][ring-large]</section><section>[head-key][tree-deep]</section></div>
<div class="columns even"><section>[head-key][list]</section><section>[head-key][list-long][tree-leaf][steps]</section></div>
<section>[head][keys]</section>
</main>
<footer class="foot"><div><nav aria-label="About"><a href="/hood">Under the hood</a><a href="/sessions">Sessions</a><a href="/status">Status</a></nav>[cost][cost-deep]</div></footer>
`

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var text strings.Builder
	must(t, c.Render(t.Context(), &text))
	return text.String()
}

func page(t *testing.T) string {
	var pairs []string
	for _, s := range samples() {
		pairs = append(pairs, "["+s.name+"]", render(t, s.component))
	}
	return strings.NewReplacer(pairs...).Replace(galleryPage)
}

func TestGallery_ShowsEveryComponent(t *testing.T) {
	for _, s := range samples() {
		if !strings.Contains(galleryPage, "["+s.name+"]") {
			t.Errorf("the gallery does not show %s", s.name)
		}
	}
	once := page(t)
	if *gallery == "" {
		return
	}
	html := `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">` +
		`<title>Gallery</title><style>` + string(style) + `</style></head><body>` +
		`<div data-theme="light">` + once + `</div><div data-theme="dark">` + once + `</div></body></html>`
	must(t, os.WriteFile(*gallery, []byte(html), 0o644))
}

func TestComponents_NeedNoValues(t *testing.T) {
	for _, c := range []templ.Component{
		Link{}, Moment{}, SectionHead{}, Tabs{}, Feed{}, RankList{}, Around{}, Ruler{}, Facts{}, Pager{}, Listing(0, Pager{}, Empty{}), Footprints{}, Seal{}, Card(""), Tags{}, Unread(0), Button{},
		Field{}, Notice{}, Search{}, Changes{}, Empty{}, Failure{}, Cost{}, RingPicture{}, TreePicture{}, ListPicture{},
		RingPicture{Segments: make([]Segment, 3), Newest: 7}, TreePicture{Root: Node{Children: make([]Node, 40)}}, Ruler{Rank: 9, Of: 3},
	} {
		if text := render(t, c); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%#v writes something that is not a number:\n%s", c, text)
		}
	}
}

func TestComponents_ContextThatIsDoneIsReported(t *testing.T) {
	for _, s := range samples() {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := s.component.Render(ctx, io.Discard); err == nil {
			t.Errorf("%s: rendered though its context was done", s.name)
		}
	}
}
