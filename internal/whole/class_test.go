package whole_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// indexClasses have the beginnings of their questions and complaints. The longest match counts.
var indexClasses = []struct {
	name   string
	begins []string
}{
	{"records", []string{"Work ", "Like ", "Offer ", "Bid ", "Ticket ", "Piece ", "Poll ", "Vote "}},
	{"enumeration", []string{"Work All", "Like All", "Offer All", "Bid All", "Ticket All", "Piece All", "Poll All", "Vote All"}},
	{"history", []string{"Work History"}},
	{"unique", []string{"Work BySlug", "Offer ByCode", "Piece ByMotto", "found by"}},
	{"list", []string{
		"Work ByAuthor", "Work ByTags", "Work ByRoomShelf", "Like By", "Offer ByKind", "Ticket ByText", "Piece ByTags", "Vote By",
		"the list of", "Size of the likes", "Count of the likes",
	}},
	{"values", []string{"Piece ByTags Values"}},
	{"total", []string{"Piece Count"}},
	{"sequence", []string{"Ticket Count"}},
	{"counter", []string{"Work Views"}},
	{"derived count", []string{"Work Likes", "Likes of"}},
	{"derived sum", []string{"Poll Numbers"}},
	{"board over a field", []string{"Work TopPrice ", "Work TopGrade", "Work Archive", "the board"}},
	{"board with ties", []string{"Piece TopStars", "Piece Latest"}},
	{"board of words", []string{"Piece TitleAZ"}},
	{"board over a counter", []string{"Work TopViews "}},
	{"board over a derived count", []string{"Work TopLikes"}},
	{"board over a method", []string{"Work Front"}},
	{"board of a period", []string{"Work TopViewsPerDay"}},
	{"board by a field", []string{"Work TopPriceByAuthor"}},
	{"board of many", []string{"Bid TopPrice "}},
	{"the same by a field", []string{"Bid TopPriceByKind"}},
	{"timeline", []string{"Work Newest", "Work Notes"}},
	{"timeline by an owner", []string{"Work NewestByAuthor", "the timeline of"}},
	{"events", []string{"Visit", "Glance", "Notice", "Shot", "visits of", "glances of", "notices of", "shots of"}},
}

func indexClass(line string) (string, bool) {
	name, longest := "", 0
	for _, class := range indexClasses {
		for _, begin := range class.begins {
			if strings.HasPrefix(line+" ", begin) && len(begin) > longest {
				name, longest = class.name, len(begin)
			}
		}
	}
	return name, longest > 0
}

func classOrder(name string) int {
	for i, class := range indexClasses {
		if class.name == name {
			return i
		}
	}
	return len(indexClasses)
}

func TestIndexClass_EveryQuestionHasOne(t *testing.T) {
	l := libraryIn(t, memkv.New(memkv.Options{}))
	calls(l, new(whole.Diary), 0, 200, 1, 1)
	seen := map[string]bool{"counter": true} // No question is about views alone.
	for question := range l.Look(ctx) {
		name, ok := indexClass(question)
		if !ok {
			t.Errorf("no class has the question %q", question)
		}
		seen[name] = true
	}
	for _, class := range indexClasses {
		if !seen[class.name] {
			t.Errorf("no question is about class %s", class.name)
		}
	}
	must(t, l.DB.Close(ctx))
}

// damaging are the keys to remove for each class: a prefix, and a text in them.
var damaging = map[string][2]string{
	"records":                    {"r:Like:", ""},
	"enumeration":                {"ids:Work#", ""},
	"history":                    {"h:Work:", ""},
	"unique":                     {"u:Work:", ""},
	"list":                       {"l:Work:ByAuthor", ""},
	"values":                     {"rank:Piece:ByTags.Values:", ""},
	"total":                      {"", ":Piece:count:"},
	"sequence":                   {"", ":Ticket"},
	"counter":                    {"n:Work:Views:", ""},
	"derived count":              {"c:", ""},
	"derived sum":                {"c:Poll:Score:", ""},
	"board over a field":         {"rank:Work:TopPrice:", ""},
	"board with ties":            {"rank:Piece:Latest", ""},
	"board of words":             {"rank:Piece:TitleAZ", ""},
	"board over a counter":       {"rank:Work:TopViews:", ""},
	"board over a derived count": {"rank:Work:TopLikes:", ""},
	"board over a method":        {"rank:Work:Front:", ""},
	"board of a period":          {"rank:Work:TopViewsPerDay", ""},
	"board by a field":           {"rank:Work:TopPriceByAuthor", ""},
	"board of many":              {"rank:Bid:TopPrice", ""},
	"the same by a field":        {"rank:Bid:TopPriceByKind", ""},
	"timeline":                   {"t:Work:Newest:", ""},
	"timeline by an owner":       {"t:Work:NewestByAuthor:", ""},
	"events":                     {"e:", "p0"},
}

var listing = kinds[1]

func TestJudge_NoticesWhatIsMissingOfEachClass(t *testing.T) {
	d := new(whole.Diary)
	mem := memkv.New(memkv.Options{})
	l := libraryIn(t, listing.opened(mem))
	calls(l, d, 0, 300, 4, 1)
	must(t, l.DB.Flush(ctx), l.DB.Close(ctx))
	items := contents(t, mem)
	for _, class := range indexClasses {
		mem := holding(t, items)
		var gone []string
		for key := range items {
			if begin := damaging[class.name]; strings.HasPrefix(key, begin[0]) && strings.Contains(key, begin[1]) {
				gone = append(gone, key)
			}
		}
		mem.Evict(gone...)
		l := libraryIn(t, listing.opened(mem))
		wrong, err := l.Judge(ctx, d)
		must(t, err, l.DB.Close(ctx))
		if !slices.ContainsFunc(wrong, func(line string) bool { name, _ := indexClass(line); return name == class.name }) {
			t.Errorf("%s: without %d keys nothing is wrong; %d other complaints", class.name, len(gone), len(wrong))
		}
	}
}
