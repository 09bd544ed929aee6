package templates_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/ringtree/ringtree/templates"
)

var tag = regexp.MustCompile(`<[^>]*>`)

// show prints the words of a component.
func show(c templ.Component) {
	var page strings.Builder
	if err := c.Render(context.Background(), &page); err != nil {
		panic(err)
	}
	fmt.Println(strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(page.String(), " "))), " "))
}

func to(text string) templates.Link { return templates.Link{Text: text, Href: "/" + text} }

// In a .templ file: @templates.Card("Sign in") { <form>…</form> }
func ExampleCard() {
	form := templ.Raw("<form>…</form>")
	if err := templates.Card("Sign in").Render(templ.WithChildren(context.Background(), form), io.Discard); err != nil {
		panic(err)
	}
}

// Any path that ends in StyleName will do, and clients keep the file for good.
func ExampleStyle() {
	mux := http.NewServeMux()
	mux.Handle("GET /static/"+templates.StyleName(), templates.Style())

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest("GET", "/static/"+templates.StyleName(), nil))
	fmt.Println(answer.Code, answer.Header().Get("Content-Type"))
	// Output: 200 text/css; charset=utf-8
}

func ExampleWriteSVG() {
	err := templates.WriteSVG(context.Background(), io.Discard, templates.StepsPicture{
		Title: "A read by id",
		Steps: []templates.Step{{Name: "trip 1", Keys: []templates.StepKey{{Op: "get", Key: "r:Page:home", Holds: "the record"}}}},
	})
	fmt.Println(err)
	// Output: <nil>
}

// PictureStyle is for a page that shows a picture and has a style of its own.
func ExamplePicture() {
	var picture templates.Picture = templates.RingPicture{Title: "The newest pages"}
	fmt.Fprintf(io.Discard, "<style>%s</style>", templates.PictureStyle)
	if err := picture.Render(context.Background(), io.Discard); err != nil {
		panic(err)
	}
}

func ExampleRankList() {
	show(templates.RankList{Rows: []templates.Ranked{
		{Rank: 1, Title: to("rings"), Known: true, Moved: 2},
		{Rank: 2, Title: to("trees"), Known: true, New: true},
	}})
	// Output: rank 1 rings ↑ up 2 rank 2 trees new
}

func ExampleAround() {
	show(templates.Around{
		Rank: 412, Of: 3456, Next: "3 more views to pass #411.",
		Rows: []templates.Ranked{
			{Rank: 411, Title: to("rings"), Known: true},
			{Rank: 412, Title: to("trees"), Known: true, Yours: true},
		},
	})
	// Output: rank 411 rings – not moved rank 412 trees – not moved 3 more views to pass #411. Rank 412 of 3,456 A logarithmic scale from the first rank to the last, with a dot at this one. 1 10 100 3,456 #412
}

func ExampleRuler() {
	show(templates.Ruler{Rank: 48_211, Of: 10_000_000})
	// Output: Rank 48,211 of 10,000,000 A logarithmic scale from the first rank to the last, with a dot at this one. 1 10 100 1,000 10,000,000 #48,211
}

func ExampleButton() {
	show(templates.Button{Text: "Write", Href: "/write"})
	// Output: Write
}

// Two people have changed a page at once: the second one decides.
func ExampleNotice() {
	theirs, mine := templates.Compare("green tea", "black tea")
	show(templates.Notice{
		Title:    "Someone was faster",
		Words:    "fern saved this page while you were writing. Nothing is lost.",
		Versions: []templates.Version{{Title: "Saved", Pieces: theirs}, {Title: "Yours", Pieces: mine}},
		Buttons:  []templates.Button{{Text: "Save mine", Form: "edit"}},
	})
	// Output: Someone was faster fern saved this page while you were writing. Nothing is lost. Saved green tea Yours black tea Save mine
}

// Package kvmodel's Cost has the same numbers.
func ExampleCost() {
	show(templates.Cost{Trips: 2, Keys: 21, Bytes: 4096, Time: 3 * time.Millisecond})
	// Output: 2 trips 21 keys 4.1 KB 3.0 ms
}

func ExampleFootprints() {
	show(templates.Footprints{Days: []templates.Day{{Title: "Today", Prints: []templates.Footprint{
		{Who: to("fern"), Note: "looked at Rings", When: templates.Moment{Words: "2 min"}, New: true},
	}}}})
	// Output: Today F fern looked at Rings new 2 min
}

func ExampleFailure() {
	show(templates.Failure{
		Title: "There is no such page", Words: "It may have been renamed.", Status: http.StatusNotFound,
		Buttons: []templates.Button{{Text: "All pages", Href: "/"}},
	})
	// Output: There is no such page It may have been renamed. All pages 404
}

// A field that was filled in wrongly says so beside itself.
func ExampleField() {
	show(templates.Field{Name: "title", Label: "Title", Required: true, Max: 120, Error: "A page needs a title."})
	// Output: Title A page needs a title.
}

func ExampleListPicture() {
	show(templates.ListPicture{
		Title: "The pages with a tag", Room: 64, Words: "One key is full.",
		Segments: []templates.ListSegment{{Name: "0", Live: 60, Stale: 4}, {Name: "1", Live: 9}},
	})
	// Output: The pages with a tag A list of 2 segments with 69 members and 4 stale entries; a segment has room for 64. 0 60 1 9 69 live, full at 64 4 stale sealed One key is full.
}

func ExampleRingPicture() {
	show(templates.RingPicture{
		Title: "The newest pages", Counter: 6, Counts: "numbers used, room for 8", Newest: 1,
		Segments: []templates.Segment{
			{Name: "0", Slots: []templates.Slot{templates.Filled, templates.Filled, templates.Stale, templates.Filled}},
			{Name: "1", Slots: []templates.Slot{templates.Filled, templates.Filled, templates.Unwritten, templates.Unwritten}},
		},
	})
	// Output: The newest pages A ring of 2 segments with 8 slots: 5 filled, 1 stale, 0 missing. The head is in 1. 0 1 head 1 6 numbers used, room for 8 5 filled newest 1 stale 0 missing head
}

func ExampleTreePicture() {
	show(templates.TreePicture{
		Title: "A ranking", Room: 64, Way: "01", Goal: "path to one page",
		Root: templates.Node{Name: "", Count: 90, Children: []templates.Node{{Name: "11", Count: 40}, {Name: "01", Count: 50}}},
	})
	// Output: A ranking A tree of names with 90 below , in leaves of at most 64. The path to 01 is marked. 90 11 40 01 50 router leaf, full at 64 router and its leaves shut, empty path to one page
}

func ExampleStepsPicture() {
	show(templates.StepsPicture{Title: "A change", Steps: []templates.Step{
		{Name: "1", Keys: []templates.StepKey{{Op: "get", Key: "r:Page:home", Holds: "the record"}}},
		{Name: "2", Note: "the change", Now: true, Keys: []templates.StepKey{{Op: "swap", Key: "r:Page:home"}}},
	}})
	// Output: A change 2 steps with 2 keys. 1 get r:Page:home the record 2 the change swap r:Page:home
}

func ExampleSectionHead() {
	show(templates.SectionHead{Title: "Popular", ID: "popular", More: templates.Link{Text: "Whole ranking", Href: "/ranking"}})
	// Output: Popular Whole ranking
}

func ExampleTabs() {
	show(templates.Tabs{Label: "Period", Now: 1, Tabs: []templates.Link{to("day"), to("week")}})
	// Output: day week
}

func ExampleUnread() {
	if err := templates.Unread(3).Render(context.Background(), os.Stdout); err != nil {
		panic(err)
	}
	// Output: <span class="count">3<span class="sr"> unread</span></span>
}

func ExampleSearch() {
	show(templates.Search{Label: "Search titles", Href: "/search", Query: "tea"})
	// Output: Search titles
}

func ExampleForm() {
	show(templates.Form{
		Action:  "/login",
		Notice:  "There is no member with this name.",
		Fields:  []templates.Field{{Name: "name", Label: "Name"}},
		Buttons: []templates.Button{{Text: "Log in"}, {Text: "Sign up", Action: "/signup", Quiet: true}},
	})
	// Output: There is no member with this name. Name Log in Sign up
}

func ExampleProse() {
	show(templates.Prose{Text: "Snow in the morning.\n\nThe marks of clogs."})
	// Output: Snow in the morning. The marks of clogs.
}

// recipe is a record of an app.
type recipe struct {
	Slug, Title, Text string
	Tags              []string
	Minutes           int
	Price             float64
	Vegan             bool
	Since             time.Time
}

// ask returns the form of a recipe: it shows the recipe, and Fill sets it.
func ask(r *recipe) templates.Form {
	return templates.Form{
		Fields: []templates.Field{
			{Name: "slug", Label: "Slug", Of: templates.Key(&r.Slug), Required: true},
			{Name: "title", Label: "Title", Of: templates.Line(&r.Title), Max: 100},
			{Name: "minutes", Label: "Minutes", Of: templates.Number(&r.Minutes)},
		},
		Buttons: []templates.Button{{Text: "Save"}},
	}
}

// A handler shows the form with what was typed, and why it was refused.
func ExampleForm_Fill() {
	r := recipe{Title: "Miso soup", Minutes: 10}
	form := ask(&r)
	problems := form.Fill(url.Values{"slug": {"soup"}, "minutes": {"soon"}})
	fmt.Printf("%+v\n", r)
	show(form.Explain(problems))
	// Output:
	// {Slug:soup Title:Miso soup Text: Tags:[] Minutes:10 Price:0 Vegan:false Since:0001-01-01 00:00:00 +0000 UTC}
	// Slug Title Minutes “soon” is not a whole number that fits. Save
}

// The database did not answer: the page says so, and keeps what was typed.
func ExampleAgain() {
	for _, field := range templates.Again(url.Values{"title": {"Miso soup"}, "vegan": {"", "on"}}).Fields {
		fmt.Printf("%s %s: %q\n", field.Type, field.Name, field.Value)
	}
	// Output:
	// hidden title: "Miso soup"
	// hidden vegan: ""
	// hidden vegan: "on"
}

// A form repeats in a hidden field which values the visitor has seen, so that the app knows
// when others have changed these.
func ExampleForm_Digest() {
	r := recipe{Title: "Miso soup"}
	seen := ask(&r).Digest()
	fmt.Println(seen == ask(&r).Digest())
	r.Title = "Miso soup with clams"
	fmt.Println(seen == ask(&r).Digest())
	// Output:
	// true
	// false
}

func ExampleFormError() {
	r := httptest.NewRequest("DELETE", "/recipes/new", nil)
	_, err := templates.ReadForm(httptest.NewRecorder(), r, 1_000_000)
	refused, _ := errors.AsType[*templates.FormError](err)
	fmt.Println(refused.Status, refused.Words)
	// Output: 405 This address takes no requests of this kind.
}

// The page of a FormError has its status and its words.
func ExampleReadForm() {
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := templates.ReadForm(w, r, 1_000_000)
		if refused, ok := errors.AsType[*templates.FormError](err); ok {
			http.Error(w, refused.Words, refused.Status)
			return
		}
		fmt.Fprintln(w, sent.Get("title"))
	})
	for _, body := range []string{"title=Miso+soup", "title=%zz"} {
		r := httptest.NewRequest("POST", "/recipes/new", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		fmt.Print(w.Code, " ", w.Body)
	}
	// Output:
	// 200 Miso soup
	// 400 This form could not be read. Nothing was changed. Go back and send it again.
}

func ExampleValuesOf() {
	fmt.Print(templates.ValuesOf([]templates.Field{
		{Name: "version", Type: "hidden", Value: "3"},
		{Name: "title", Label: "Title", Value: "Snow"},
	}))
	// Output: Title: Snow
}

func ExampleLinksTo() {
	fmt.Println(templates.LinksTo("", "/posts/by-tags/", "winter", "north sea"))
	// Output: [{winter /posts/by-tags/winter} {north sea /posts/by-tags/north%20sea}]
}

func ExampleDays() {
	now := time.Date(2026, 7, 9, 12, 0, 0, 0, time.UTC)
	for _, day := range templates.Days(now, []templates.Footprint{
		{Who: to("ann"), When: templates.Moment{At: now.Add(-time.Hour)}},
		{Who: to("ben"), When: templates.Moment{At: now.Add(-40 * time.Hour)}},
	}) {
		fmt.Println(day.Title, day.Prints[0].Who.Text, day.Prints[0].When.Words)
	}
	// Output:
	// Today ann 11:00
	// Past week ben Tue
}

func ExampleLitSince() {
	before := templates.RingPicture{Segments: []templates.Segment{{Slots: []templates.Slot{templates.Filled, templates.Unwritten}}}}
	now := templates.RingPicture{Segments: []templates.Segment{{Slots: []templates.Slot{templates.Filled, templates.Filled}}}}
	fmt.Println(templates.LitSince(now, before).(templates.RingPicture).Lit)
	// Output: [1]
}

// Numbers and times as people read them.
func ExampleGrouped() {
	fmt.Println(templates.Grouped(1_234_567), templates.Span(11, 20, 3456), templates.Span(1, 10, 0))
	fmt.Println(templates.Counted(1, "view", "views"), templates.Counted(1234, "view", "views"))
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, past := range []time.Duration{time.Second, 2 * time.Minute, 3 * time.Hour, 50 * time.Hour, 30 * 24 * time.Hour, 400 * 24 * time.Hour} {
		fmt.Print(templates.Ago(now, now.Add(-past)).Words, ", ")
	}
	fmt.Println(templates.TimeValue(now))
	fmt.Println(templates.ParseNumber[int8]("12"))
	fmt.Println(templates.ParseNumber[int8]("128"))
	// Output:
	// 1,234,567 11–20 of 3,456 1–10
	// {1 view} {1,234 views}
	// now, 2 min, 3 hr, 2 days, Apr 1, Mar 2025, 2026-05-01T12:00
	// 12 true
	// 0 false
}

// Small pictures: a logo, its animation, and the seal of a member, which alone has a word.
func ExampleMark() {
	show(templates.Mark{})
	show(templates.Walk(5))
	show(templates.Seal{Name: "fern"})
	// Output: F
}

// An edit as readers of a history see it, and two versions of a text side by side.
func ExampleCompare() {
	show(templates.Changed("One cup of tea.", "Two cups of tea."))
	show(templates.Changes([]templates.Change{{Before: "green", After: "black"}, {Before: " tea", After: " tea"}}))
	var theirs, mine []templates.Piece
	theirs, mine = templates.Compare("green tea", "black tea")
	fmt.Println(theirs[0], mine[0])
	// Output:
	// One cup Two cups of tea.
	// green black tea
	// {green  true} {black  true}
}

// In a .templ file: @templates.Listing(len(rows), pager, empty) { @templates.Feed{Rows: rows} }
func ExampleFeed() {
	show(templates.Feed{Rows: []templates.Row{
		{Title: to("rings"), Meta: []templates.Link{to("fern")}, When: templates.Moment{Words: "2 min"}},
		{Title: to("trees"), Figure: templates.Figure{Value: "4.5", Unit: "stars"}},
	}})
	show(templates.Facts{Facts: []templates.Fact{{Before: "rank", Figure: templates.Link{Text: "#12", Href: "/ranking"}, After: "of 3,456"}}})
	show(templates.Tags{Tags: []templates.Link{to("mornings"), to("paper")}})
	pager := templates.Pager{
		Back:  templates.Link{Text: "Newer", Href: "/?before=k3Qz"},
		On:    templates.Link{Text: "Older", Href: "/?after=p81A"},
		Words: templates.Span(11, 20, 3456),
	}
	empty := templates.Empty{Words: "Nothing here yet.", Way: templates.Link{Text: "Write the first page", Href: "/write"}}
	show(templates.Listing(0, pager, empty))
	show(templates.Turn("Newer", "Older", "", "CURSOR", func(cursor string) string { return "/newest?at=" + cursor }))
	// Output:
	// 2 min rings fern trees 4.5 stars
	// rank #12 of 3,456
	// mornings paper
	// Nothing here yet. Write the first page ← Newer 11–20 of 3,456 Older →
	// Older →
}

// What a visitor typed sets the variable of an input. A key that is there stays: its field is
// hidden then.
func ExampleInput() {
	r := recipe{}
	for _, typed := range []struct {
		in   *templates.Input
		text string
	}{
		{templates.Key(&r.Slug), ".."},
		{templates.Key(&r.Slug), "soup"},
		{templates.Line(&r.Title), " Miso soup "},
		{templates.Text(&r.Text), "Stir.\r\nDo not boil."},
		{templates.Words(&r.Tags), "winter, north sea"},
		{templates.Number(&r.Minutes), "10"},
		{templates.Decimal(&r.Price), "NaN"},
		{templates.Decimal(&r.Price), "12.50"},
		{templates.Check(&r.Vegan), "on"},
		{templates.Time(&r.Since), "2026-11-01T10:00"},
	} {
		form := templates.Form{Fields: []templates.Field{{Name: "field", Of: typed.in}}}
		if problem := form.Fill(url.Values{"field": {typed.text}})["field"]; problem != "" {
			fmt.Println(problem)
		}
	}
	fmt.Printf("%q\n", fmt.Sprint(r))
	show(templates.Field{Name: "vegan", Label: "Vegan", Of: templates.Check(&r.Vegan)})
	// Output:
	// No address can end in “..”.
	// “NaN” is not a number.
	// "{soup Miso soup Stir.\nDo not boil. [winter north sea] 10 12.5 true 2026-11-01 10:00:00 +0000 UTC}"
	// Vegan
}
