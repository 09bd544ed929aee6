package templates

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/a-h/templ"
)

// A sample is a component with values like an app's.
type sample struct {
	name      string
	component templ.Component
}

var someDay = time.Date(2026, 1, 18, 14, 21, 0, 0, time.UTC)

func words(text string) Link { return Link{Text: text} }

func to(text string) Link { return Link{text, "/" + text} }

func samples() []sample {
	return []sample{
		{"head", SectionHead{Title: "Popular", ID: "popular", More: Link{"Whole ranking", "/ranking"}}},
		{"head-key", SectionHead{Title: "Newest pages: a ring", Key: "page:newest"}},
		{"tabs", Tabs{
			Label: "Period", Now: 1, Fact: "counted to 14:32:07",
			Tabs: []Link{{"Today", "/ranking?of=day"}, {"This week", "/ranking"}, {"All time", "/ranking?of=all"}},
		}},
		{"feed", sampleFeed},
		{"ranks", RankList{Rows: sampleRanks(true)}},
		{"ranks-aside", RankList{Rows: sampleRanks(false)}},
		{"around", sampleAround},
		{"ruler", Ruler{Rank: 48_211, Of: 10_000_000}},
		{"ruler-one", Ruler{Rank: 1, Of: 1}},
		{"facts", Facts{[]Fact{
			{"rank", Link{"#12", "/ranking?around=geta"}, "of 3,456"},
			{"", words("1,234"), "views"},
			{"", Link{"4", "#comments"}, "comments"},
		}}},
		{"pager", Pager{Back: Link{"Newer", "/feed?before=k3Qz"}, On: Link{"Older", "/feed?after=p81A"}, Words: Span(11, 20, 3456)}},
		{"listing", sampleListing(2)},
		{"listing-empty", sampleListing(0)},
		{"pager-first", Pager{On: Link{"Older", "/feed?after=k3Qz"}, Words: Span(1, 10, 0)}},
		{"footprints", sampleFootprints},
		{"search", Search{Label: "Search titles", Href: "/search", Query: "Th"}},
		{"mark", Mark{}},
		{"seal", Seal{Name: "mosswren"}},
		{"seal-large", Seal{Name: "\u202e§ éclair", Large: true}},
		{"card", sampleCard},
		{"changes", Changed("One cup of green tea.\nSlowly.", "Two cups of tea.\nSlowly.")},
		{"tags", Tags{Tags: []Link{to("mornings"), to("paper"), to("snow"), to("walking")}}},
		{"unread", Unread(3)},
		{"unread-many", Unread(1200)},
		{"button", Button{Text: "Write", Href: "/write"}},
		{"button-quiet", Button{Text: "Mark all as seen", Quiet: true, Form: "seen", Name: "until", Value: "p81A"}},
		{"field", Field{Name: "title", Label: "Title", Value: "Mending a wool jumper in the wrong color", Writing: true, Required: true, Max: 120}},
		{"field-text", Field{
			Name: "text", Label: "Text", Hint: "Blank line: new paragraph. ## heading, *emphasis*.", Rows: 6, Writing: true,
			Value: "\nThe jumper was my uncle’s and the elbow went in November.\n\n## What you need",
		}},
		{"field-wrong", Field{
			Name: "tags", Label: "Tags", Hint: "Up to five, with commas between.", Value: "repair, wool, a very long tag that no one would ever look for",
			Error: "“a very long tag that no one would ever look for” is longer than 24 characters.",
		}},
		{"field-checked", Field{Name: "vegan", Label: "Vegan", Type: "checkbox", Value: "on"}},
		{"form", Form{
			Action: "/login", Notice: "There is no member with this name and password.",
			Fields:  []Field{{Name: "next", Type: "hidden", Value: "/feed", Complete: "off"}, {Name: "name", Label: "Name", Value: "mosswren"}},
			Buttons: []Button{{Text: "Log in"}, {Text: "Sign up", Action: "/signup", Quiet: true}},
		}},
		{"form-here", Form{Fields: []Field{{Name: "about", Label: "About you"}}, Buttons: []Button{{Text: "Save"}}}},
		{"prose", Prose{"The marks of clogs,\nand of a cat.\n\n\nSnow again."}},
		{"notice", sampleNotice},
		{"empty", Empty{Words: "No visitors yet.", Way: Link{"Find a profile to visit", "/feed"}}},
		{"failure", Failure{
			Title: "The store does not answer", Words: "Nothing is lost. Try again in a moment.",
			Buttons: []Button{{Text: "Try again", Href: "/feed"}, {Text: "Home", Href: "/", Quiet: true}},
			Status:  503, Request: "9f2c41",
		}},
		{"cost", Cost{Trips: 2, Keys: 41, Bytes: 26_400, Time: 412 * time.Microsecond}},
		{"cost-deep", Cost{Trips: 9, Deep: 4, Keys: 1, Bytes: 640, Time: 12 * time.Millisecond}},
		{"ring", sampleRing(8, 32)},
		{"ring-large", sampleLive},
		{"tree", sampleTree},
		{"tree-deep", sampleDeepTree()},
		{"tree-leaf", TreePicture{Title: "A ranking of one leaf", Root: Node{Name: "key0", Count: 21}, Room: 128}},
		{"list", sampleList(6)},
		{"list-long", sampleList(80)},
		{"steps", sampleSteps},
	}
}

var sampleFeed = Feed{[]Row{
	{Moment{"2 min", someDay}, to("The bench behind the fire station"), []Link{to("mosswren"), to("places")}, Figure{}, true},
	{Moment{"9 min", someDay}, to("Sourdough at eight degrees"), []Link{to("crumb"), to("kitchen")}, Counted(14, "view", "views"), false},
	{Moment{"1 h", someDay}, to("Birds I heard before six"), []Link{to("jackdaw"), to("mornings")}, Counted(1, "view", "views"), false},
	{Moment{"2 h", someDay}, to("What the ferry timetable taught me about patience, and what it could not"), []Link{words("deleted member"), to("water")}, Counted(1_077, "view", "views"), false},
}}

func sampleRanks(figures bool) []Ranked {
	titles := []string{"A field guide to manhole covers", "Notes from a month without a map", "The last video shop on our street", "Rain sounds, in order", "Walking the old Tokaido in trainers"}
	authors := []string{"lamplit", "northnorth", "reel9", "mosswren", "longstride"}
	views := []int64{5402, 4870, 3916, 3388, 2951}
	moved := []int{0, 2, -1, 12, 0}
	var rows []Ranked
	for i, title := range titles {
		row := Ranked{Rank: int64(i + 1), Title: to(title), Meta: []Link{to(authors[i])}, Share: float64(views[i]) / float64(views[0])}
		if figures {
			row.Figure, row.Moved, row.New, row.Known = Counted(views[i], "view", "views"), moved[i], i == 4, true
		} else {
			row.Meta = append(row.Meta, words(Grouped(views[i])+" views"))
		}
		rows = append(rows, row)
	}
	return rows
}

var sampleAround = Around{
	Rows: []Ranked{
		{Rank: 410, Title: to("An owl, and the other owl"), Meta: []Link{to("jackdaw")}, Figure: Figure{Value: "63"}, Moved: -1, Known: true},
		{Rank: 411, Title: to("Letters to the bus driver"), Meta: []Link{to("longstride")}, Figure: Figure{Value: "62"}, Known: true},
		{Rank: 412, Title: to("Mending a wool jumper in the wrong color"), Meta: []Link{words("your page")}, Figure: Figure{Value: "60"}, Moved: 18, Known: true, Yours: true},
		{Rank: 413, Title: to("Plums, and what the wasps left"), Meta: []Link{to("figtree")}, Figure: Figure{Value: "59"}, Moved: -2, Known: true},
		{Rank: 414, Title: to("A drawer for odd buttons"), Meta: []Link{to("crumb")}, Figure: Figure{Value: "59"}, New: true, Known: true},
	},
	Next: "3 more views to pass #411.",
	Rank: 412, Of: 3456,
}

var sampleFootprints = Footprints{[]Day{
	{"Today", []Footprint{
		{to("papercrane"), "came from your page on wool", Moment{"14:21", someDay}, true},
		{to("jackdaw"), "follows you", Moment{"11:05", someDay}, true},
		{to("longstride"), "14th visit", Moment{"07:30", someDay}, false},
	}},
	{"Yesterday", []Footprint{
		{to("crumb"), "follows you", Moment{"22:16", someDay}, false},
		{to("northnorth"), "", Moment{"18:02", time.Time{}}, false},
	}},
}}

// sampleListing is a listing of n entries, as a page would write it.
func sampleListing(n int) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		pager := Pager{Back: Link{"Newer", "/feed?before=k3Qz"}}
		return Listing(n, pager, Empty{Words: "Nothing here yet."}).Render(templ.WithChildren(ctx, Feed{sampleFeed.Rows[:n]}), w)
	})
}

// sampleCard is a card around children, as a page would write it.
var sampleCard = templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
	inside := templ.Join(markup(`<p>Your last 256 visitors. Each appears once, at the latest visit; older prints melt.</p>`),
		buttons([]Button{{Text: "Mark all as seen", Quiet: true}}))
	return Card("What is kept").Render(templ.WithChildren(ctx, inside), w)
})

// markup returns a component that writes text as it is.
func markup(text string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

var sampleNotice = Notice{
	Title: "This page changed while you were writing",
	Words: "You saved it from another window at 14:18. Nothing is lost: your text is below, and the marked words differ.",
	Versions: []Version{
		{"Saved at 14:18 (edit 3)", []Piece{{"The yarn I had was ", false}, {"the gray of a wet street", true}, {", so the elbow ", false}, {"can be seen", true}, {".", false}}},
		{"Yours, not saved", []Piece{{"The yarn I had was ", false}, {"red", true}, {", so the elbow ", false}, {"is now a small red field", true}, {".", false}}},
	},
	Hint:    "Copy over what you want to keep, then save. Your text becomes edit 4. Edit 3 stays in the history.",
	Buttons: []Button{{Text: "Save mine as edit 4", Form: "edit"}, {Text: "Discard mine", Href: "/pages/jumper", Quiet: true}},
}

// sampleRing returns a ring in which some slots are stale or missing. The last
// segment is not full.
// sampleLive is a ring of which not all was read, and some has just changed.
var sampleLive = func() RingPicture {
	r := sampleRing(32, 64)
	r.Lit = []int{3, 2000}
	for i := range 20 {
		r.Segments[i].Slots = slices.Repeat([]Slot{Unchecked}, len(r.Segments[i].Slots))
	}
	return r
}()

func sampleRing(segments, width int) RingPicture {
	r := RingPicture{
		Title: "The ring of the newest pages", Newest: segments - 1, Counter: 10_490, Counts: fmt.Sprintf("numbers used, room for %d", segments*width),
		Words: "Each entry takes the next number and is appended to that number’s segment. After the last segment, the ring continues with the first. " +
			"A stale slot refers to a page that has moved or is gone. A missing slot was never written. Readers skip both.",
	}
	for i := range segments {
		s := Segment{Name: fmt.Sprintf("s:%d", i), Slots: make([]Slot, width)}
		for j := range s.Slots {
			s.Slots[j] = sampleSlot(i, j)
			if i == segments-1 && j > width*3/4 {
				s.Slots[j] = Unwritten
			}
		}
		r.Segments = append(r.Segments, s)
	}
	return r
}

func sampleSlot(i, j int) Slot {
	switch n := 31*i + 7*j; {
	case n%29 == 3:
		return Missing
	case n%(11+9*i) == 5:
		return Stale
	}
	return Filled
}

// leaves returns the router name over four leaves with counts, highest first.
func leaves(name string, counts ...int64) Node {
	router := Node{Name: name}
	for i, n := range counts {
		suffix := []string{"11", "10", "01", "00"}[i]
		router.Children = append(router.Children, Node{Name: name + suffix, Count: n, Shut: n == 0})
		router.Count += n
	}
	return router
}

func router(name string, children ...Node) Node {
	n := Node{Name: name, Children: children}
	for _, child := range children {
		n.Count += child.Count
	}
	return n
}

var sampleTree = TreePicture{
	Title: "The tree of the ranking by views", Room: 128, Way: "key01110", Goal: "path to one page",
	Words: "A node’s name gives its range of scores: 00 is the lowest quarter of its parent, and 11 is the highest. Four boxes stand for a router and its leaves.",
	Root: router("key0",
		leaves("key011", 0, 38, 81, 95),
		router("key010", leaves("key01011", 118, 110, 96, 78), leaves("key01010", 112, 108, 90, 78), leaves("key01001", 104, 101, 88, 68), leaves("key01000", 99, 81, 74, 62)),
		router("key001", leaves("key00111", 109, 87, 78, 70), leaves("key00110", 88, 77, 70, 64), leaves("key00101", 86, 76, 65, 60), Node{Name: "key00100", Count: 126}),
		router("key000", leaves("key00011", 80, 70, 60, 53), Node{Name: "key00010", Count: 127}, leaves("key00001", 61, 58, 50, 41), Node{Name: "key00000", Count: 119})),
}

// sampleDeepTree returns a tree that is too large to draw, with a chain at its top.
func sampleDeepTree() TreePicture {
	var grow func(name string, depth int) Node
	grow = func(name string, depth int) Node {
		if depth == 0 {
			return leaves(name, 90, 100, 40, 60)
		}
		return router(name, grow(name+"11", depth-1), grow(name+"10", depth-1), grow(name+"01", depth-1), grow(name+"00", depth-1))
	}
	chain := router("key0", Node{Name: "key011", Shut: true}, grow("key010", 3), Node{Name: "key001", Shut: true}, Node{Name: "key000", Shut: true})
	return TreePicture{Title: "The tree of a large ranking", Room: 128, Way: "key01001101101", Root: chain}
}

var sampleSteps = StepsPicture{
	Title: "A look-up of a unique value", Words: "The key is made of the value, so nothing is searched for.",
	Steps: []Step{
		{Name: "Whose is it?", Keys: []StepKey{{"get", "u:Page:BySlug:home", "page p1"}}},
		{Name: "What does it say?", Note: "The record decides.", Now: true, Keys: []StepKey{{"get", "r:Page:p1", "the record"}}},
	},
}

func sampleList(segments int) ListPicture {
	l := ListPicture{Title: "The followers of a topic", Room: 1000, Words: "A member is in exactly one segment. What was removed goes when the segment is rolled."}
	for i := range segments {
		s := ListSegment{Name: fmt.Sprintf("L#%05x", 40503*(i+1)%1048576), Live: int64(900 - 97*i%640), Stale: int64(53 * i % 210)}
		s.Sealed, s.Asked = i == 4, i == 2
		l.Segments = append(l.Segments, s)
	}
	return l
}
