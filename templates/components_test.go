package templates

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
)

var update = flag.Bool("update", false, "write the expected files again")

func expected(name string) string { return filepath.Join("testdata", name+".html") }

// golden are the samples whose HTML is in testdata: one of each family of components.
var golden = []string{
	"card", "changes", "cost", "facts", "feed", "field-wrong", "form", "head", "list", "notice", "pager", "ring", "search", "tabs", "tree-leaf",
}

func TestComponents_WriteWhatIsExpected(t *testing.T) {
	files, err := filepath.Glob(expected("*"))
	must(t, err)
	var want []string
	for _, s := range samples() {
		if !slices.Contains(golden, s.name) {
			continue
		}
		want = append(want, expected(s.name))
		got := normal(t, render(t, s.component))
		if *update {
			must(t, os.WriteFile(expected(s.name), []byte(got), 0o644))
		}
		text, err := os.ReadFile(expected(s.name))
		if err != nil {
			t.Error(err)
			continue
		}
		proof.NoDiff(t, cmp.Diff(normal(t, string(text)), got), "%s:", s.name)
	}
	slices.Sort(want)
	proof.NoDiff(t, cmp.Diff(want, files), "files mismatch (-golden +testdata)")
}

// The test above does not compare blanks between tags; this one does.
func TestComponents_ReadAsSentences(t *testing.T) {
	for _, test := range []struct {
		component templ.Component
		want      string
	}{
		{Pager{Back: Link{"Newer", "/a"}, On: Link{"Older", "/b"}, Words: "11–20"}, "← Newer 11–20 Older →"},
		{Facts{[]Fact{{"rank", words("#12"), "of 3,456"}, {"seen", words(""), "times"}}}, "rank #12 of 3,456"},
		{Feed{[]Row{{When: Moment{Words: "2 min"}, Title: words("A title"), Meta: []Link{words("mosswren"), words("places")}, Figure: Figure{"14", "views"}, New: true}}},
			"2 min A title mosswren · places 14 views new"},
		{RankList{Rows: []Ranked{{Rank: 3, Title: words("A title"), Moved: -2, Known: true}}}, "rank 3 A title ↓ down 2"},
		{Cost{Trips: 5, Deep: 2, Keys: 1, Bytes: 1536, Time: time.Millisecond}, "5 trips, 2 deep 1 key 1.5 KB 1.0 ms"},
		{Unread(2), "2 unread"},
		{Notice{Title: "x", Versions: []Version{{"y", []Piece{{"It was ", false}, {"red", true}, {".", false}}}}}, "x y It was red."},
	} {
		proof.NoDiff(t, cmp.Diff(test.want, said(t, render(t, test.component))), "%T: text", test.component)
	}
}

var hostile = []string{
	`<script>alert(1)</script>`,
	`"><svg onload=alert(1)>`,
	`' onmouseover='alert(1)`,
	`</title></textarea></style><img src=x onerror=alert(1)>`,
	`javascript:alert(1)`,
	" JaVaScRiPt:alert(1)",
	`data:text/html,<script>alert(1)</script>`,
	`&lt;script&gt;&#x3c;`,
	"\u202egnirts\u2066\u2067",
	`<!--`,
	`]]>`,
	"a`b{{c}}${d}",
}

func TestComponents_EscapeWhatPeopleWrote(t *testing.T) {
	for _, text := range hostile {
		for _, s := range samples() {
			value := reflect.ValueOf(s.component)
			if value.Kind() != reflect.Struct {
				continue
			}
			changed := withText(value, text).Interface().(templ.Component)
			got := render(t, changed)
			all, err := tokens(got)
			if err != nil {
				t.Errorf("%s with %q: %v", s.name, text, err)
				continue
			}
			if problem := unsafe(all, render(t, s.component)); problem != "" {
				t.Errorf("%s with %q: %s in:\n%s", s.name, text, problem, got)
			}
		}
	}
}

// withText replaces every non-empty string.
func withText(value reflect.Value, text string) reflect.Value {
	changed := reflect.New(value.Type()).Elem()
	changed.Set(value)
	switch value.Kind() {
	case reflect.String:
		if value.Len() > 0 {
			changed.SetString(text)
		}
	case reflect.Slice:
		changed.Set(reflect.MakeSlice(value.Type(), value.Len(), value.Len()))
		for i := range value.Len() {
			changed.Index(i).Set(withText(value.Index(i), text))
		}
	case reflect.Struct:
		if _, isTime := value.Interface().(time.Time); isTime {
			return changed
		}
		for i := range value.NumField() {
			changed.Field(i).Set(withText(value.Field(i), text))
		}
	}
	return changed
}

// unsafe says how all, the tokens of an attacked component, differ from the honest one, or
// returns "".
func unsafe(all []token, honest string) string {
	for _, token := range all {
		if token.start != "" && !strings.Contains(honest, "<"+token.start) {
			return "there is an element " + token.start + " that is not the component's"
		}
		for name, value := range token.attributes {
			switch {
			case strings.HasPrefix(name, "on") || name == "style":
				return "there is an attribute " + name
			case name == "href" && strings.Contains(strings.ToLower(value), "script:"), name == "href" && strings.HasPrefix(value, "data:"):
				return "there is an address " + value
			case !strings.Contains(honest, " "+name):
				return "there is an attribute " + name + " that is not the component's"
			}
		}
	}
	return ""
}

func TestUnsafe_SeesWhatIsUnsafe(t *testing.T) {
	const honest = `<a href="/x" class="y">z</a>`
	for _, bad := range []string{
		`<a href="/x" class="y" onclick="z">z</a>`, `<a href="javascript:x">z</a>`, `<a href="data:x">z</a>`,
		`<a href="/x" style="color: red">z</a>`, `<a href="/x" class="y"><script>z</script></a>`, `<a href="/x" id="y">z</a>`,
	} {
		all, err := tokens(bad)
		must(t, err)
		if unsafe(all, honest) == "" {
			t.Errorf("%s passes", bad)
		}
	}
}

func TestComponents_IsolateTheDirectionOfWhatPeopleWrote(t *testing.T) {
	own := []string{"bdi", "option", "textarea", "title", "desc"}
	const turned = "\u202egnirts"
	who := Link{turned, "/x"}
	for _, c := range []templ.Component{
		SectionHead{Title: turned, More: who}, Feed{[]Row{{Title: who, Meta: []Link{who}}}}, RankList{Rows: []Ranked{{Title: who, Meta: []Link{who}}}},
		Footprints{[]Day{{Prints: []Footprint{{Who: who, Note: turned}}}}}, Tags{Tags: []Link{who}}, Card(turned),
		Field{Name: "x", Error: turned}, Field{Name: "x", Rows: 2, Value: turned}, Notice{Words: turned},
		RingPicture{Title: turned, Words: turned}, TreePicture{Title: turned, Words: turned}, Facts{[]Fact{{Figure: who}}}, Empty{Way: who}, Prose{turned}, Form{Notice: turned},
	} {
		all, err := tokens(render(t, c))
		must(t, err)
		var open []string
		for _, token := range all {
			switch {
			case token.start != "" && !slices.Contains(void, token.start):
				open = append(open, token.start)
			case token.end != "":
				open = open[:len(open)-1]
			case strings.Contains(token.text, turned) && !slices.Contains(own, open[len(open)-1]):
				t.Errorf("%T: %q stands in %s, which does not keep its direction in", c, token.text, open[len(open)-1])
			}
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	proof.Must(t, err)
}

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
		proof.Contains(t, galleryPage, "["+s.name+"]")
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
