package whole_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// One key of a store is deleted, of every class that indexes have, under a process that
// has used it and before one starts. Whatever the library answers from then on must be
// what the same library answers that has lost nothing, or an error that says that
// something is lost. After Rebuild it answers everything again.

// told are the classes whose loss is not a matter of indexes: records and what they
// alone say, and what has tests of its own.
var told = []string{"r", "n", "h", "ids", "all", "built", "rebuild", "rebuilt", "procs", "out", "line", "fixed", "build", "seq", "qh", "session", "sessions", "generation", "limit", "rescued", "recovery", "turn"}

// listedClass is how the table of docs/keys.md begins a line about a class. It lists
// every class: internal/repotest checks that.
var listedClass = regexp.MustCompile("(?m)^\\| `([a-z0-9]+)(:[A-Z]+)+`")

func TestLosses_TakeAKeyOfEveryClass(t *testing.T) {
	there := map[string]bool{}
	for class := range byClass(lossWorlds[0].furnished(t)) {
		name, _, _ := strings.Cut(class, " ")
		there[name] = true
	}
	for _, listed := range listedClass.FindAllStringSubmatch(string(read(t, filepath.Join("..", "..", "docs", "keys.md"))), -1) {
		if class := listed[1]; !there[class] && !slices.Contains(told, class) {
			t.Errorf("no key of class %s is lost", class)
		}
	}
}

// lostClass returns the class of what is stored under key: that of the key, and in a
// ranking or a list which part of it.
func lostClass(key string, value []byte) string {
	class, rest, _ := strings.Cut(key, ":")
	tail := key[strings.LastIndexByte(key, ':')+1:]
	switch class {
	case "rank":
		return "rank " + boardKind(rest) + " " + node(tail, value)
	case "l", "s":
		if at := strings.IndexByte(key, '#'); at < 0 {
			return class + " head"
		} else if key[at:] == "#0" {
			return class + " first segment"
		}
		return class + " segment"
	case "t", "e":
		at := strings.IndexByte(key, '#')
		switch {
		case strings.HasSuffix(key, "#n"):
			return class + " counter"
		case strings.HasPrefix(key[at:], "#a") || strings.HasPrefix(key[at:], "#p"):
			return class + " " + key[at:at+2]
		}
		return class + " segment"
	}
	return class
}

// boardKind returns the kind of board that the tree called rest belongs to.
func boardKind(rest string) string {
	switch name := strings.Join(strings.SplitN(rest, ":", 3)[:2], ":"); {
	case strings.HasPrefix(rest, "scores:"):
		return "alone"
	case strings.HasSuffix(name, "ByKind.ends"):
		return "ends by"
	case strings.HasSuffix(name, ".ends"):
		return "ends"
	case strings.HasSuffix(name, ".Values"):
		return "values"
	case strings.HasSuffix(name, "ByAuthor"):
		return "by"
	case strings.HasSuffix(name, "PerDay"):
		return "period"
	case slices.Contains([]string{"Work:TopViews", "Work:TopLikes", "Work:Front"}, name):
		return "counter"
	case strings.HasSuffix(name, ".words"):
		return "words"
	}
	return "field"
}

// node returns the kind of a key of a tree, whose last part is tail.
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

// classLimits are the classes of which nothing else in the store says that one is there, and
// whether Rebuild makes it again. docs/stores.md tells them.
var classLimits = map[string]bool{
	"u":                   true,  // Find does not find the record
	"l first segment":     true,  // a list of one segment looks empty
	"c":                   true,  // a derived count shows 0
	"t segment":           true,  // its entries are missing
	"rank counter record": true,  // the record has no rank until a page has shown it
	"rank period record":  true,  // the same
	"rank alone record":   false, // the member is gone
	"s first segment":     false, // a set looks empty
	"per":                 false, // what was counted in the period is gone
	"q":                   false, // the sequence may end there
	"e #a":                false, // events are gone
	"e #p":                false,
	"e segment":           false,
	"e counter":           false, // the ring has less room
}

// lossWorld is a kind of store.
type lossWorld struct {
	name   string
	powers func(*memkv.Store) kv.Powers
}

var lossWorlds = []lossWorld{
	{"server", func(*memkv.Store) kv.Powers { return kv.Powers{Unless: true, Ordered: true} }},
	{"plain", func(*memkv.Store) kv.Powers { return kv.Powers{} }},
	{"alone", func(mem *memkv.Store) kv.Powers { p := mem.Powers(); p.Alone = true; return p }},
}

func (w lossWorld) open(t *testing.T, mem *memkv.Store) *whole.Library {
	t.Helper()
	return w.openOver(t, mem, w.powers(mem))
}

func (w lossWorld) openOver(t *testing.T, s kv.Store, powers kv.Powers) *whole.Library {
	t.Helper()
	l, err := whole.Open(still{s, powers})
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = l.DB.Close(ctx)
	})
	return l
}

// furnished returns the items of a store of w that has something of every class, and
// boards with several nodes, when all processes have ended.
func (w lossWorld) furnished(t *testing.T) map[string][]byte {
	return w.furnishedUntil(t, func(t *testing.T, l *whole.Library, _ *memkv.Store) { must(t, l.DB.Close(ctx)) })
}

// furnishedUntil is furnished with an end of its own.
func (w lossWorld) furnishedUntil(t *testing.T, end func(*testing.T, *whole.Library, *memkv.Store)) map[string][]byte {
	items := map[string][]byte{}
	synctest.Test(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		l := w.open(t, mem)
		for i, id := range whole.WorkIDs {
			furnish(t, l, i, id)
		}
		var offers []*whole.Offer
		for i := range 150 {
			offers = append(offers, &whole.Offer{ID: fmt.Sprint("f", i), Code: fmt.Sprint("c", i), Kind: whole.Kinds[i%2], Price: int64(i % 50), Until: time.Now().Add(72 * time.Hour)})
			must(t, l.Scores.Set(ctx, fmt.Sprint("m", i), int64(i)))
		}
		must(t, l.Offers.CreateMulti(ctx, offers))
		rest(t, l)
		l.Look(ctx)
		rest(t, l)
		end(t, l, mem)
		for _, key := range mem.Keys() {
			items[key] = valueOf(t, mem, key)
		}
	})
	return items
}

func furnish(t *testing.T, l *whole.Library, i int, id string) {
	t.Helper()
	must(t, l.Works.Create(ctx, &whole.Work{
		ID: id, Slug: "slug-" + id, Author: whole.Authors[i%3], Tags: whole.Tags[:i%3], Room: whole.Rooms[i%2], Shelf: i % whole.Shelves,
		Title: fmt.Sprint("title ", i), Note: fmt.Sprint("note ", i), Price: int64(3 * i), Grade: float64(i) / 4, Taken: time.Unix(int64(1000*i+1), 0),
	}))
	for range i%4 + 1 {
		_, err := l.Works.Views.Hit(ctx, id)
		must(t, err)
	}
	text, owner := fmt.Sprint("text", i), whole.Owners[i%2]
	_, err := l.Log.Add(ctx, &text)
	must(t, err,
		l.Likes.Create(ctx, &whole.Like{User: whole.Users[i%4], Work: id}),
		l.Topics.Of(whole.Topics[i%2]).Add(ctx, id),
		l.Tickets.Create(ctx, &whole.Ticket{Text: whole.Texts[i%2]}),
		l.Visits.Push(ctx, whole.Visit{Owner: owner, Guest: text}),
		l.Glances.Push(ctx, whole.Glance{Owner: owner, Guest: text}),
		l.Notices.Push(ctx, whole.Notice{To: owner, Text: text, About: text}),
		l.Shots.Push(ctx, whole.Shot{Of: owner, Text: text}))
}

// rest waits until what follows from changes is done.
func rest(t *testing.T, l *whole.Library) {
	t.Helper()
	for range 2 {
		must(t, l.DB.Flush(ctx))
		time.Sleep(time.Minute)
	}
}

func valueOf(t *testing.T, s kv.Store, key string) []byte {
	t.Helper()
	r, err := kv.One(ctx, s, kv.OpGet(key))
	must(t, err)
	return r.Value
}

// writes are changes of everything, in order; some may be refused.
func writes(l *whole.Library) map[string]func() error {
	text := "text of later"
	return map[string]func() error{
		"create": func() error {
			return l.Works.Create(ctx, &whole.Work{
				ID: "later", Slug: "slug-later", Author: "ann", Tags: whole.Tags, Room: "east", Title: "later", Note: "later",
				Price: 1000, Grade: 50, Taken: time.Unix(5e6, 0),
			})
		},
		"edit": func() error {
			_, err := l.Works.Update(ctx, "w3", func(v *whole.Work) error {
				v.Price, v.Title, v.Note, v.Author, v.Slug, v.Tags = 2000, "edited", "edited", "bob", "slug-edited", []string{"red"}
				return nil
			})
			return err
		},
		"delete": func() error { return l.Works.Delete(ctx, "w5") },
		"hit":    func() error { _, err := l.Works.Views.Hit(ctx, "w7"); return err },
		"like":   func() error { return l.Likes.Create(ctx, &whole.Like{User: "u1", Work: "w7"}) },
		"unlike": func() error { return l.Likes.Delete(ctx, whole.LikeID{User: "u2", Work: "w1"}) },
		"offer": func() error {
			return l.Offers.Create(ctx, &whole.Offer{ID: "f150", Code: "c150", Kind: "sale", Price: 77, Until: time.Now().Add(48 * time.Hour)})
		},
		"offered": func() error {
			_, err := l.Offers.Update(ctx, "f7", func(v *whole.Offer) error { v.Price += 30; return nil })
			return err
		},
		"ticket": func() error { return l.Tickets.Create(ctx, &whole.Ticket{Text: "yes"}) },
		"set":    func() error { return l.Topics.Of("moss").Add(ctx, "later") },
		"log":    func() error { _, err := l.Log.Add(ctx, &text); return err },
		"score":  func() error { return l.Scores.Set(ctx, "m7", 500) },
		"scored": func() error { return l.Scores.Set(ctx, "later", 60) },
		"notice": func() error { return l.Notices.Push(ctx, whole.Notice{To: "o1", Text: "later", About: "later"}) },
		"shot":   func() error { return l.Shots.Push(ctx, whole.Shot{Of: "o1", Text: "later"}) },
	}
}

// mend rebuilds everything that can be, and takes the rest for whole.
func mend(l *whole.Library) error {
	var ids []string
	for i := range 150 {
		ids = append(ids, fmt.Sprint("m", i))
	}
	errs := []error{l.Scores.Rebuild(ctx, append(ids, "later")...), l.Log.Accept(ctx)}
	for _, m := range l.All() {
		errs = append(errs, m.Rebuild(ctx))
	}
	for _, topic := range whole.Topics {
		errs = append(errs, l.Topics.Of(topic).Accept(ctx))
	}
	return errors.Join(errs...)
}

// lostFirst are the classes that go test loses a key of, and where.
var lostFirst = map[string]string{
	"l head":                 "running",
	"rank alone router":      "running",
	"rank counter root leaf": "fresh",
	"rank ends meta":         "fresh",
	"rank field meta":        "running",
	"rank field root leaf":   "running",
	"u":                      "fresh",
}

// keysOfEach is how many keys of each class are lost in the long run, one after another.
const keysOfEach = 3

// byClass returns the keys of items by their classes, without those that are told
// elsewhere.
func byClass(items map[string][]byte) map[string][]string {
	keys := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(items)) {
		if class := lostClass(key, items[key]); !slices.Contains(told, class) {
			keys[class] = append(keys[class], key)
		}
	}
	return keys
}

// stages are when a library is looked at.
var stages = []string{"at once", "after writes", "later", "rebuilt"}

// cell is one mishap: key is lost or, with a flip, one bit of its value has changed, under
// a process that runs or before it starts.
type cell struct {
	world      lossWorld
	class, key string
	running    bool
	flip       *flip
}

func (c cell) String() string {
	if c.flip == nil {
		return fmt.Sprintf("%s %s, %s process", c.world.name, c.key, c.column())
	}
	return fmt.Sprintf("%s %s, %v, %s process", c.world.name, c.key, *c.flip, c.column())
}

// befall makes the mishap happen in mem.
func (c cell) befall(t *testing.T, mem *memkv.Store) {
	op := kv.OpDelete(c.key)
	if c.key == "" {
		return
	}
	if c.flip != nil {
		op = kv.OpSet(c.key, c.flip.of(valueOf(t, mem, c.key)))
	}
	must(t, mem.Do(ctx, []kv.Op{op}))
}

// admits reports whether err may come of the mishap.
func (c cell) admits(err error) bool {
	return errors.Is(err, kvmodel.ErrNeedsRebuild) || errors.Is(err, kv.ErrLost) || c.flip != nil && errors.Is(err, kvmodel.ErrCorrupt)
}

// look asks l everything. Where bits have flipped, that includes records by their ids, since
// those that All leaves out are to be seen, too.
func (c cell) look(l *whole.Library, byID bool) whole.Shown {
	s := l.Look(ctx)
	if byID {
		l.LookByID(ctx, s)
	}
	return s
}

func (c cell) column() string {
	if c.running {
		return "running"
	}
	return "fresh"
}

// verdict is what was found at one stage of a cell: what is wrong with no error, whether
// that is one of the limits of its class, and how many answers of all say that something
// is wrong.
type verdict struct {
	wrong       []string
	limited     bool
	says, asked int
}

func (v verdict) String() string {
	switch {
	case len(v.wrong) > 0 && v.limited:
		return "less"
	case len(v.wrong) > 0:
		return "WRONG"
	case v.says > 0:
		return fmt.Sprintf("says so %d%%", max(1, 100*v.says/v.asked))
	}
	return "right"
}

// add adds what got answers where want is right. What is not asked because an enumeration
// has left it out says so, if that does.
func (c cell) add(v *verdict, want, got whole.Shown) {
	for question, right := range want {
		v.asked++
		text, asked := got[question]
		if !asked {
			model, _, _ := strings.Cut(question, " ")
			text = got[model+" All"]
		}
		switch {
		case asked && text == right:
		case c.isSaid(text):
			v.says++
		default:
			v.wrong = append(v.wrong, fmt.Sprintf("%s: want %.300q, got %.300q", question, right, text))
		}
	}
	slices.Sort(v.wrong)
}

// isSaid reports whether an answer says that something is wrong.
func (c cell) isSaid(text string) bool {
	return text == whole.NeedsRebuild || strings.Contains(text, kvmodel.ErrNeedsRebuild.Error()) || strings.Contains(text, kv.ErrLost.Error()) ||
		c.flip != nil && strings.Contains(text, kvmodel.ErrCorrupt.Error())
}

// seen is what was seen of a library: what it and a newcomer show at each stage, the
// writes that were refused because something is wrong, and the other errors.
type seen struct {
	shown   [][]whole.Shown
	refused map[string]bool
	says    error // of what mends
	errs    []string
}

// see looks at a library after the mishap of c, or none if it has no key. It leaves out the
// writes that were refused elsewhere.
func (c cell) see(t *testing.T, items map[string][]byte, refused map[string]bool, byID bool) (out seen) {
	out.refused = map[string]bool{}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour) // The items were written in an hour from the same time on.
		mem := memkv.New(memkv.Options{})
		for key, value := range items {
			must(t, mem.Do(ctx, []kv.Op{kv.OpSet(key, value)}))
		}
		if !c.running {
			c.befall(t, mem)
		}
		l := c.world.open(t, mem)
		if c.running {
			l.Look(ctx)
			must(t, l.DB.Flush(ctx))
			c.befall(t, mem)
		}
		look := func(all ...whole.Shown) { out.shown = append(out.shown, all) }
		look(c.look(l, byID))
		changes := writes(l)
		beside := c.world.open(t, mem)
		if powers := c.world.powers(mem); powers.Alone {
			beside = l // No other process can write.
		}
		others := writes(beside)
		for i, name := range slices.Sorted(maps.Keys(changes)) {
			if refused[name] {
				continue
			}
			change := changes[name]
			if i%2 == 1 {
				change = others[name]
			}
			if err := change(); c.admits(err) {
				out.refused[name] = true
			} else if err != nil {
				out.errs = append(out.errs, fmt.Sprint(name, ": ", err))
			}
		}
		flush := func(l *whole.Library) {
			if err := l.DB.Flush(ctx); err != nil && !c.admits(err) {
				out.errs = append(out.errs, fmt.Sprint("flush: ", err))
			}
		}
		rest := func() {
			for range 2 {
				flush(l)
				time.Sleep(time.Minute)
			}
		}
		flush(l)
		flush(beside)
		time.Sleep(20 * time.Second) // Each looks at what it remembers by then.
		newcomer := func() whole.Shown { return c.look(c.world.open(t, mem), byID) }
		look(c.look(l, byID), newcomer())
		rest()
		look(c.look(l, byID), newcomer())
		if err := mend(l); c.flip != nil && c.admits(err) {
			out.says = err
		} else if err != nil {
			out.errs = append(out.errs, fmt.Sprint("mend: ", err))
		}
		rest()
		look(c.look(l, byID), newcomer())
	})
	return out
}

// place is where a cell stands in its row.
func (c cell) place() string { return c.world.name + " " + c.column() }

// matrix is what was found of each class, by place and stage.
type matrix map[string]map[string][]verdict

func (m matrix) add(c cell, verdicts []verdict) {
	if m[c.class] == nil {
		m[c.class] = map[string][]verdict{}
	}
	was := m[c.class][c.place()]
	if was == nil {
		was = make([]verdict, len(verdicts))
	}
	for i, v := range verdicts {
		was[i].wrong = append(was[i].wrong, v.wrong...)
		was[i].limited = was[i].limited || v.limited
		if v.says*max(was[i].asked, 1) > was[i].says*v.asked {
			was[i].says, was[i].asked = v.says, v.asked
		}
	}
	m[c.class][c.place()] = was
}

// sheet returns the matrix as the page shows it: the worst before Rebuild, and what is
// left after it.
func (m matrix) sheet() *sheet {
	s := &sheet{corner: "class"}
	for _, world := range lossWorlds {
		for _, class := range slices.Sorted(maps.Keys(m)) {
			for _, column := range []string{"running", "fresh"} {
				place := world.name + " " + column
				if stages, ok := m[class][place]; ok {
					s.put("`"+class+"`", place, overStages(stages))
				}
			}
		}
	}
	slices.Sort(s.rows)
	return s
}

// overStages is what stands in the cell of a sheet.
func overStages(stages []verdict) string {
	last := stages[len(stages)-1].word()
	before := last
	for _, v := range stages[:len(stages)-1] {
		before = findings[min(slices.Index(findings, before), slices.Index(findings, v.word()))]
	}
	switch {
	case before == "right":
		return before
	case last == "right":
		return before + ", then right"
	}
	return before + ", after Rebuild " + last
}

func (m matrix) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%-24s%-16s", "of class", "process")
	for _, stage := range stages {
		fmt.Fprintf(&text, " %-13s", stage)
	}
	for _, class := range slices.Sorted(maps.Keys(m)) {
		for _, place := range slices.Backward(slices.Sorted(maps.Keys(m[class]))) {
			fmt.Fprintf(&text, "\n%-24s%-16s", class, place)
			for _, v := range m[class][place] {
				fmt.Fprintf(&text, " %-13s", v)
			}
		}
	}
	return text.String()
}

func TestMatrix_OfLosses_EveryAnswerIsRightOrSaysSo(t *testing.T) {
	var few, all []cell
	stores := map[string]map[string][]byte{}
	for i, w := range lossWorlds {
		if i > 0 && !proof.Long() {
			break
		}
		stores[w.name] = w.furnished(t)
		for class, keys := range byClass(stores[w.name]) {
			for at := range keysOfEach {
				key := keys[at*(len(keys)-1)/(keysOfEach-1)]
				all = append(all, cell{w, class, key, true, nil}, cell{w, class, key, false, nil})
			}
			if column, ok := lostFirst[class]; ok {
				few = append(few, cell{lossWorlds[0], class, keys[0], column == "running", nil})
			}
		}
	}
	found := matrix{}
	wants := wanted{}
	for c := range proof.Part(t, few, all) {
		verdicts, wrong, says := c.judge(t, stores[c.world.name], wants)
		mended, limited := classLimits[c.class]
		for i := range verdicts {
			verdicts[i].limited = limited && (!mended || i < len(stages)-1)
		}
		found.add(c, verdicts)
		for i, v := range verdicts {
			if !v.limited {
				wrong = append(wrong, v.complaints(stages[i])...)
			}
		}
		if says && !limited {
			wrong = append(wrong, "Rebuild does not mend it")
		}
		for _, wrong := range wrong {
			t.Errorf("%v: %s", c, wrong)
		}
	}
	t.Logf("one key of each class lost\n%v", found)
	publish(t, "losses", found.sheet(), "")
}

// wanted is what a library shows that has met no mishap, by its world and the writes that
// are left out.
type wanted map[string]seen

// judge returns what was found at each stage of c, the errors that it does not admit, and
// whether anything says at the end that something is wrong.
func (c cell) judge(t *testing.T, items map[string][]byte, wants wanted) (verdicts []verdict, errs []string, says bool) {
	t.Helper()
	byID := c.flip != nil
	got := c.see(t, items, nil, byID)
	name := fmt.Sprint(c.world.name, slices.Sorted(maps.Keys(got.refused)))
	want, known := wants[name]
	if !known {
		want = cell{world: c.world}.see(t, items, got.refused, byID)
		wants[name] = want
	}
	verdicts = make([]verdict, len(stages))
	for i := range stages {
		for j := range got.shown[i] {
			c.add(&verdicts[i], want.shown[i][j], got.shown[i][j])
		}
	}
	return verdicts, append(got.errs, want.errs...), got.says != nil || verdicts[len(stages)-1].says > 0
}

// complaints are a few of the answers of v that are wrong, and the stage.
func (v verdict) complaints(stage string) (texts []string) {
	for _, wrong := range v.wrong[:min(len(v.wrong), 2)] {
		texts = append(texts, stage+": "+wrong)
	}
	return texts
}

func TestLosses_ARebuildNeedsNoOneToNoticeBefore(t *testing.T) {
	w := lossWorlds[0]
	items := w.furnished(t)
	classes := byClass(items)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour)
		mem := memkv.New(memkv.Options{})
		for key, value := range items {
			must(t, mem.Do(ctx, []kv.Op{kv.OpSet(key, value)}))
		}
		l := w.open(t, mem)
		want := l.Look(ctx)
		for _, class := range []string{"rank field root leaf", "rank counter root leaf", "rank ends router", "rank by root leaf", "rank period root leaf", "l first segment", "u", "c"} {
			must(t, mem.Do(ctx, []kv.Op{kv.OpDelete(classes[class][0])}))
		}
		fresh := w.open(t, mem)
		must(t, mend(fresh), fresh.DB.Flush(ctx))
		for name, l := range map[string]*whole.Library{"running": l, "fresh": fresh, "new": w.open(t, mem)} {
			for _, wrong := range want.Differences(l.Look(ctx)) {
				t.Errorf("%s process: %.300s", name, wrong)
			}
		}
	})
}

// What a board over a counter keeps of a record follows from the counter. So a page that
// meets the entry shows the record, and has what is lost made again.
func TestLosses_APageShowsAMemberWhoseOwnRecordIsLost(t *testing.T) {
	w := lossWorlds[0]
	items := w.furnished(t)
	classes := byClass(items)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour)
		mem := memkv.New(memkv.Options{})
		for key, value := range items {
			must(t, mem.Do(ctx, []kv.Op{kv.OpSet(key, value)}))
		}
		want := w.open(t, mem).Look(ctx)
		for _, class := range []string{"rank counter record", "rank period record"} {
			must(t, mem.Do(ctx, []kv.Op{kv.OpDelete(classes[class][0])}))
		}
		l := w.open(t, mem)
		got := l.Look(ctx)
		for _, wrong := range want.Differences(got) {
			if !strings.Contains(wrong, "odd ranks") {
				t.Errorf("at once: %.300s", wrong)
			}
		}
		must(t, l.DB.Flush(ctx))
		time.Sleep(time.Minute)
		for _, wrong := range want.Differences(l.Look(ctx)) {
			t.Errorf("later: %.300s", wrong)
		}
	})
}
