package whole_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var losses = matrix{
	name:   "losses",
	items:  kind.furnished,
	class:  lostClass,
	spared: spared,
	flips:  func([]byte) (none [tries]*flip) { return none },
	says:   []error{kvmodel.ErrNeedsRebuild, kv.ErrLost},
	reach:  100,
	limits: lossLimits,
	first:  []string{"l head running", "rank counter root leaf fresh", "rank field meta running", "u fresh"},
}

// spared are records, items that nothing else implies, and those with tests of their own.
var spared = []string{"r", "n", "h", "ids", "built", "rebuild", "rebuilt", "procs", "out", "line", "fixed", "build", "seq", "qh", "session", "sessions", "generation", "limit", "rescued", "recovery", "turn"}

// Nothing else in the store shows that these keys existed (docs/memcached.md).
var lossLimits = map[string]limit{
	"u":                   {until: rebuilt}, // Find does not find the record
	"l first segment":     {until: rebuilt}, // a list of one segment looks empty
	"c":                   {until: rebuilt}, // a derived count shows 0
	"t segment":           {until: rebuilt}, // its entries are missing
	"rank counter record": {until: rebuilt}, // the record has no rank until a page has shown it
	"rank period record":  {until: rebuilt}, // the same
	"per":                 {until: never},   // what was counted in the period is gone
	"e #a":                {until: never},   // events are gone
	"e #p":                {until: never},
	"e segment":           {until: never},
	"e counter":           {until: never}, // the ring has less room
}

func TestMatrix_OfLosses_EveryAnswerIsRightOrSaysSo(t *testing.T) { losses.goThrough(t) }

func lostClass(key string, value []byte) string {
	class, rest, _ := strings.Cut(key, ":")
	_, part, _ := strings.Cut(key, "#")
	switch {
	case class == "rank":
		return "rank " + boardKind(rest) + " " + node(key[strings.LastIndexByte(key, ':')+1:], value)
	case !slices.Contains([]string{"l", "s", "t", "e"}, class):
		return class
	case part == "":
		return class + " head"
	case part == "0" && (class == "l" || class == "s"):
		return class + " first segment"
	case strings.HasSuffix(key, "#n"):
		return class + " counter"
	case part[0] == 'a' || part[0] == 'p':
		return class + " #" + part[:1]
	}
	return class + " segment"
}

var boardKinds = [][2]string{
	{"Bid:TopPriceByKind", "many by"}, {"Bid:TopPrice", "many"}, {".Values", "values"}, {"ByAuthor", "by"}, {"PerDay", "period"},
	{"Work:TopViews", "counter"}, {"Work:TopLikes", "counter"}, {"Work:Front", "counter"}, {".words", "words"},
}

func boardKind(rest string) string {
	name := strings.Join(strings.SplitN(rest, ":", 3)[:2], ":")
	for _, kind := range boardKinds {
		if strings.HasSuffix(name, kind[0]) {
			return kind[1]
		}
	}
	return "field"
}

func node(tail string, value []byte) string {
	kind := map[byte]string{'L': "leaf", 'S': "leaf", 'R': "router", 'T': "router", 'I': "record"}[value[2]]
	switch {
	case tail == "key0":
		return "root " + kind
	case strings.HasPrefix(tail, "key0"), kind == "record":
		return kind
	}
	return tail
}

// listedClass begins a line of docs/internals/keys.md.
var listedClass = regexp.MustCompile("(?m)^\\| `([a-z0-9]+)(:[A-Z]+)+`")

func TestLosses_TakeAKeyOfEveryClass(t *testing.T) {
	there := slices.Clone(spared)
	for class := range losses.classes(lossWorlds[0].furnished(t)) {
		name, _, _ := strings.Cut(class, " ")
		there = append(there, name)
	}
	for _, listed := range listedClass.FindAllStringSubmatch(string(read(t, filepath.Join("..", "..", "docs", "internals", "keys.md"))), -1) {
		if !slices.Contains(there, listed[1]) {
			t.Errorf("no key of class %s is lost", listed[1])
		}
	}
}

func firstOf(items map[string][]byte, classes ...string) func(string) bool {
	keys := losses.classes(items)
	return func(key string) bool {
		return slices.ContainsFunc(classes, func(class string) bool { return keys[class][0] == key })
	}
}

func TestLosses_ARebuildNeedsNoOneToNoticeBefore(t *testing.T) {
	items := lossWorlds[0].furnished(t)
	harm{
		kind: lossWorlds[0], name: "without a key of many classes", running: true,
		hits: firstOf(items, "rank field root leaf", "rank counter root leaf", "rank many router", "rank by root leaf", "rank period root leaf", "l first segment", "u", "c"),
		course: []stage{{"rebuilt by another process", func(p *play) {
			fresh := p.enter()
			must(p.t, mend(fresh), fresh.DB.Flush(ctx))
		}, true}},
	}.try(t, items, wanted{}, limit{})
}

// The items of a member follow from the counter: a page that meets the entry shows the record and
// has the loss repaired.
func TestLosses_APageShowsAMemberWhoseOwnRecordIsLost(t *testing.T) {
	items := lossWorlds[0].furnished(t)
	harm{
		kind: lossWorlds[0], name: "without the records of members", hits: firstOf(items, "rank counter record", "rank period record"),
		course: []stage{usualCourse[atOnce], {"later", (*play).rest, false}},
	}.try(t, items, wanted{}, limit{until: afterWrites, only: []string{"odd ranks"}})
}

func TestRebuild_MakesTheRootOfATreeAgain(t *testing.T) {
	for _, k := range kinds {
		for name, left := range map[string]int{"with a record": 1, "without any": 0} {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				items := k.items(t, func(t *testing.T, l *whole.Library, _ *memkv.Store) {
					for _, id := range whole.PieceIDs {
						must(t, l.Pieces.Create(ctx, &whole.Piece{ID: id, Tags: []string{"red"}, Stars: 3}))
					}
					for _, id := range whole.PieceIDs[left:] {
						must(t, l.Pieces.Delete(ctx, id))
					}
					must(t, l.DB.Close(ctx))
				})
				harm{
					kind: k, name: "without roots",
					hits: func(key string) bool { return strings.HasPrefix(key, "rank:Piece:") && strings.HasSuffix(key, ":key0") },
					course: []stage{{"rebuilt", func(p *play) {
						p.rebuild()
						wantAsRecordsSay(p.t, p.all[0])
					}, true}},
				}.try(t, items, wanted{}, limit{})
			})
		}
	}
}

func wantAsRecordsSay(t *testing.T, l *whole.Library) {
	t.Helper()
	should, err := l.Should(ctx)
	must(t, err)
	for _, wrong := range should.Differences(l.Look(ctx)) {
		t.Errorf("%.300s", wrong)
	}
}

type halved struct {
	kv.Losses
	edition uint64
}

func (h *halved) Edition() (number, id uint64) { return h.edition, h.edition }
func (h *halved) Lost() []error                { return nil }
func (h *halved) Watch(func([]string, error))  {}
func (h *halved) Accept(context.Context) ([]string, error) {
	h.edition++
	return []string{"two"}, nil
}

func TestMatrix_OfLosses_HalfOfAllKeysLost_RebuildFindsWhatIsLeft(t *testing.T) {
	t.Parallel()
	items := lossWorlds[0].furnished(t)
	halves := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for i, k := range lossWorlds[:2] {
		for half := range proof.Part(t, halves[i:i+1], halves) {
			t.Run(fmt.Sprint(k.name, " ", half), func(t *testing.T) {
				two := &halved{edition: 1}
				powers := func(s kv.Store) kv.Powers { p := k.powers(s); p.Losses = two; return p }
				harm{
					kind: kind{k.name, powers, false}, name: "without half of all keys", running: true,
					hits:   func(key string) bool { return crc32.ChecksumIEEE([]byte(key))>>half&1 == 0 },
					course: []stage{{"accepted and rebuilt", (*play).rebuildTheRest, false}},
				}.play(t, items, nil)
			})
		}
	}
}

func (p *play) rebuildTheRest() {
	var left []string
	for _, key := range p.mem.Keys() {
		if id, is := strings.CutPrefix(key, "r:Ticket:"); is {
			left = append(left, id)
		}
	}
	slices.Sort(left)
	fresh := p.enter()
	_, err := fresh.DB.Accept(ctx)
	must(p.t, err)
	for _, m := range fresh.All() {
		must(p.t, m.Rebuild(ctx))
	}
	rest(p.t, fresh)
	p.enter()
	for i, l := range p.all {
		should, shown := wantAllThatIsLeft(p.t, l)
		should["Ticket All"] = strings.Join(left, " ")
		for _, question := range []string{"Ticket All", "Ticket ByText yes All", "Ticket ByText no All"} {
			if should[question] != shown[question] {
				p.t.Errorf("process %d, %s: want %q, got %q", i, question, should[question], shown[question])
			}
		}
	}
	v := &whole.Ticket{Text: "yes"}
	must(p.t, fresh.Tickets.Create(ctx, v))
	for _, id := range left {
		if n, err := strconv.ParseInt(id, 10, 64); err != nil || int64(v.ID) <= n {
			p.t.Errorf("the next ticket is %d, and %s is left", v.ID, id)
		}
	}
}

// Counts of entries still include lost records, and a lost part of an enumeration may have named
// any.
func wantAllThatIsLeft(t *testing.T, l *whole.Library) (should, shown whole.Shown) {
	t.Helper()
	should, err := l.Should(ctx)
	must(t, err)
	shown = l.Look(ctx)
	lost := map[string]bool{}
	for question, want := range should {
		if model, rest, _ := strings.Cut(question, " "); rest == "All" && shown[question] != want {
			t.Logf("not listed any more: %s of %q, %q are left", question, want, shown[question])
			lost[model] = true
		}
	}
	for question, want := range should {
		model, rest, _ := strings.Cut(question, " ")
		listing := strings.HasSuffix(rest, " All") || strings.HasSuffix(rest, "Page") || strings.HasPrefix(rest, "BySlug ") || strings.HasPrefix(rest, "ByCode ")
		if lost[model] || !listing {
			continue
		}
		got := strings.Fields(shown[question])
		for _, id := range strings.Fields(want) {
			if !slices.Contains(got, id) {
				t.Errorf("after Rebuild, %s: want %q, got %q", question, want, shown[question])
				break
			}
		}
	}
	return should, shown
}
