package keytree

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// wordOf returns the word of a text without zeros: no word is the beginning of another.
func wordOf(text string) Score { return FromWord(text + "\x00") }

// told is a Truth that tests set.
type told map[string]State

func (t told) States(_ context.Context, _ kv.Store, ids []string) ([]State, error) {
	states := make([]State, len(ids))
	for i, id := range ids {
		states[i] = t[id]
	}
	return states, nil
}

// words is a tree of words.
type words struct {
	*Tree
	told
	s kv.Store
}

func openWords(s kv.Store, truth told) *words {
	c := Config{Name: "test.words", Code: Words, Truth: truth, Local: NewLocal(1 << 16), Now: time.Now, Limit: 4}
	return &words{New(c), truth, s}
}

// change brings the member id to a state, as a change of its record does.
func (w *words) change(t testing.TB, id string, to State) {
	t.Helper()
	was := w.told[id]
	to.Ver = was.Ver + 1
	var dues []*Due
	if to.In {
		due, err := w.Insert(ctx, w.s, id, to)
		if err != nil {
			t.Fatal("insert:", err)
		}
		dues = append(dues, due)
	}
	w.told[id] = to
	for _, at := range []State{was, to} {
		due, err := w.Tidy(ctx, w.s, id, at.Score, to)
		if err != nil {
			t.Fatal("tidy:", err)
		}
		dues = append(dues, due)
	}
	for _, due := range dues {
		if err := due.Report(ctx, w.s); err != nil {
			t.Fatal("report:", err)
		}
	}
}

func (w *words) put(t testing.TB, id, text string) {
	t.Helper()
	w.change(t, id, State{In: true, Score: wordOf(text)})
}

// sorted returns the ids of the members, the lowest first.
func (w *words) sorted(o *order) []string {
	return slices.SortedFunc(maps.Keys(w.told), func(a, b string) int {
		return cmp.Or(w.told[a].Score.Compare(w.told[b].Score), o.point(w.told[a].Score, a).compare(o.point(w.told[b].Score, b)))
	})
}

// check asserts that w answers as a sorted slice does.
func (w *words) check(t *testing.T) Report {
	t.Helper()
	m, err := w.readMeta(ctx, w.s)
	must(t, err)
	want := w.sorted(&m.order)
	want = slices.DeleteFunc(want, func(id string) bool { return !w.told[id].In })
	for _, down := range []bool{false, true} {
		var got []string
		var at []byte
		for {
			l, err := w.Page(ctx, w.s, Between{}, down, at, 7, Want{})
			must(t, err)
			if got = append(got, names(l.Members)...); l.Next == nil {
				break
			}
			at = l.Next
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("down %v: mismatch (-want +got):\n%s", down, diff)
		}
		for i := 0; i < len(want); i += 1 + len(want)/9 {
			if st, err := w.Standing(ctx, w.s, want[i], down, Single); err != nil || st.Rank != i+1 || st.Total != len(want) {
				t.Errorf("%s has rank %d of %d, %v; want %d of %d", want[i], st.Rank, st.Total, err, i+1, len(want))
			}
			part, err := w.At(ctx, w.s, i, 3, down, Single, Want{})
			if diff := gocmp.Diff(want[i:min(len(want), i+3)], names(part.Members)); diff != "" || err != nil {
				t.Errorf("%v, mismatch (-want +got):\n%s", err, diff)
			}
		}
		slices.Reverse(want)
	}
	report, err := w.Verify(ctx, w.s, want)
	if err != nil || report.Members != len(want) || len(report.Wrong)+len(report.Missing)+report.Stale+report.Pending+report.Drift > 0 {
		t.Errorf("verify: %+v, %v", report, err)
	}
	return report
}

func TestWords_ATreeAnswersAsASortedSliceDoes(t *testing.T) {
	long := strings.Repeat("one beginning ", 4) // 56 bytes
	for name, text := range map[string]func(i int) string{
		"few words":          func(i int) string { return []string{"tea", "coffee", "tea house"}[i%3] },
		"numbered":           func(i int) string { return fmt.Sprintf("%04d", i*7%1000) },
		"one long beginning": func(i int) string { return fmt.Sprintf("%s%04d", long, i*7%1000) },
		"one long word":      func(int) string { return long },
		"of any bytes":       func(i int) string { return strings.Repeat(string([]byte{byte(1 + i*37%255)}), 1+i%MaxWord) },
	} {
		t.Run(name, func(t *testing.T) {
			w := openWords(newMem(), told{})
			rng := seeded(t)
			changes := proof.Size(80, 200)
			if strings.Contains(name, "long") {
				changes = 30 // Each reports to as many nodes as the beginning has levels.
			}
			for i := range changes {
				id := idOf(rng.IntN(changes))
				if i%5 == 4 {
					w.change(t, id, State{})
					continue
				}
				w.put(t, id, text(rng.IntN(1000)))
			}
			w.check(t)
			for _, bound := range []string{"", "coffee", "tea", "tea house", "0500", long, long + "0500"} {
				w.checkCount(t, bound)
			}
			// Another process has seen nothing of the tree, and finds its way by the edge or without.
			other := openWords(w.s, w.told)
			other.check(t)
		})
	}
}

// checkCount asserts how many words are below a text, and from there on.
func (w *words) checkCount(t *testing.T, text string) {
	t.Helper()
	s := FromWord(text)
	below, above := 0, 0
	for _, st := range w.told {
		switch {
		case !st.In:
		case st.Score.word < text:
			below++
		default:
			above++
		}
	}
	if n, err := w.Count(ctx, w.s, Between{High: &s}); err != nil || n != below {
		t.Errorf("%d words are below %q, %v; want %d", n, text, err, below)
	}
	if n, err := w.Count(ctx, w.s, Between{Low: &s}); err != nil || n != above {
		t.Errorf("%d words are from %q on, %v; want %d", n, text, err, above)
	}
	first := FromWord("0")
	early := 0
	for _, st := range w.told {
		if st.In && st.Score.word < min("0", text) {
			early++
		}
	}
	if n, err := w.Count(ctx, w.s, Between{&first, &s}); err != nil || n != below-early {
		t.Errorf("%d words are from 0 on and below %q, %v; want %d", n, text, err, below-early)
	}
	if l, err := w.Page(ctx, w.s, Between{Low: &s}, false, nil, 500, Want{}); err != nil || len(l.Members) != above {
		t.Errorf("%d words are shown from %q on, %v; want %d", len(l.Members), text, err, above)
	}
}

// A word with the longest code has room for the hash behind it, and the key of the deepest
// node is within the limit, with room for a tenant.
func TestWords_TheDeepestNodeHasAKeyThatIsNotHashed(t *testing.T) {
	o := order{code: Words}
	bits := o.bits(o.point(FromWord(strings.Repeat("\xff", MaxWord)), "a"))
	if free := len(bits) - 8*MaxWord; len(bits) != maxWordBits || free < 64 {
		t.Errorf("a position has %d bits, %d of them of the hash", len(bits), free)
	}
	root := New(Config{Name: strings.Repeat("n", 99), Code: Words}).nodes(&meta{order: o}, 9_999_999_999_999)
	if n := len(root.key(bits)); n > kv.MaxKey-kv.MaxTenant-1 {
		t.Errorf("the longest key has %d bytes, at most %d", n, kv.MaxKey-kv.MaxTenant-1)
	}
}

func TestWords_NodesHaveNamesOfTheirOwn(t *testing.T) {
	p := &nodes{order: order{code: Words}, root: "rank:t:1:key0"}
	for name, want := range map[string]string{
		"": "", "00": "g", "11": "j", "0000": "0", "1111": "f", "0110": "6", "011001": "6h", "0110011110001110": "678e",
	} {
		got := p.keyName(name)
		if got != rootName+want || p.key(name) != "rank:t:1:key0"+want {
			t.Errorf("the node %q is called %q, want %q", name, got, want)
		}
		if !Words.IsName(want) || want != "" && Signed.IsName(want) != (strings.Trim(want, "01") == "") {
			t.Errorf("%q is the name of a node: %v", want, Words.IsName(want))
		}
	}
	for _, text := range []string{"k", "A", "g0", "0:", "é"} {
		if Words.IsName(text) {
			t.Errorf("%q is the name of a node", text)
		}
	}
	seen := map[string]string{}
	for name, more := range map[string]int{"": 4} {
		var all func(name string, more int)
		all = func(name string, more int) {
			if other, twice := seen[p.key(name)]; twice {
				t.Errorf("%q and %q have one key", name, other)
			}
			seen[p.key(name)] = name
			for i := 0; i < 4 && more > 0; i++ {
				all(childName(name, i), more-1)
			}
		}
		all(name, more)
	}
}

func TestWords_AreInOrderAndBelowTheHighest(t *testing.T) {
	o := &order{code: Words}
	all := []Score{FromWord("\x00"), FromWord("a\x00"), FromWord("a\x01"), FromWord("b"), FromWord(strings.Repeat("\xff", MaxWord))}
	last := lowest
	for _, s := range all {
		for _, p := range []point{before(s), o.point(s, "x"), after(s)} {
			if p.compare(last) <= 0 || o.bits(p) < o.bits(last) {
				t.Errorf("%+v is not above %+v", p, last)
			}
			last = p
		}
	}
	if highest.compare(last) <= 0 || o.bits(highest) < o.bits(last) {
		t.Error("there is a word above the highest point")
	}
	if a := FromWord("a"); !a.Equals(FromWord("a")) || a.Equals(FromWord("b")) {
		t.Error("words are equal, or not, and should not be")
	}
}

func TestWords_ALeafHasThemInPlaceOfScores(t *testing.T) {
	l := &leaf{seq: 3, pushed: tally{members: 2}, entries: []entry{
		{FromWord("a\x00"), 1700000000000, "x", false}, {FromWord("b\x00"), 7, "yz", true},
	}}
	value := "K1L\x10\x03\x02\x02\x02a\x00\x01\x8b\xcf\xe5h\x00\x01x\x02b\x00\x80\x00\x00\x00\x00\a\x02yz"
	got := string(l.encode())
	if got[:len(got)-frame.Sum] != value {
		t.Errorf("a leaf is written as %q, want %q", got[:len(got)-frame.Sum], value)
	}
	long := &leaf{entries: slices.Repeat([]entry{{FromWord(strings.Repeat("x", MaxWord)), 1, "x", false}}, 9)}
	for _, l := range []*leaf{l, long} {
		if n := len(l.encode()); l.bytes() < n {
			t.Errorf("a leaf of %d bytes is taken for one of %d", n, l.bytes())
		}
	}
	nd, err := decodeNode(kv.Result{Value: []byte(got), Version: 1})
	if err != nil || nd.leaf == nil {
		t.Fatal(nd, err)
	}
	if diff := gocmp.Diff(l.entries, nd.leaf.entries, entries); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
	ending := &leaf{entries: []entry{{FromWord("a\x00"), 1, "x", false}}}
	if nd, _ := decodeNode(kv.Result{Value: ending.encode(), Version: 1}); nd.leaf == nil || nd.leaf.entries[0] != ending.entries[0] {
		t.Errorf("an entry with an end is read as %+v", nd.leaf)
	}
	lines, err := Show("rank:t:1:key0", []byte(got))
	if err != nil || !slices.Contains(lines, "x at 6100, version 1700000000000") {
		t.Errorf("a leaf is shown as %q, %v", lines, err)
	}
}

// What is cut or changed is no leaf, and nothing is read beyond its end.
func TestWords_ADamagedLeafIsMissing(t *testing.T) {
	l := &leaf{entries: []entry{{FromWord("a\x00"), 1, "x", false}, {FromWord("b\x00"), 7, "yz", true}}}
	whole := l.encode()
	for n := range len(whole) - frame.Sum {
		cut := frame.Whole(slices.Clone(whole[:n]))
		if nd, err := decodeNode(kv.Result{Value: cut, Version: 1}); nd.leaf != nil || err != nil {
			t.Errorf("of %d bytes %d are a leaf, %v", len(whole), n, err)
		}
	}
}

func TestPosition_OfAWordIsWhereItWas(t *testing.T) {
	o := &order{code: Words}
	s := FromWord("sea\x00")
	for _, want := range []point{lowest, highest, before(s), after(s), o.point(s, "a").beside(true), o.point(FromWord(strings.Repeat("\x00", MaxWord)), "a").beside(false)} {
		for _, back := range []bool{true, false} {
			got, turned, err := decodePosition(encodePosition(want, back))
			if got != want || turned != back || err != nil {
				t.Errorf("%+v, back %v, is stored as %+v, %v, %v", want, back, got, turned, err)
			}
		}
	}
}

// A cursor that someone has made up is refused, or is a point of the order.
func TestWords_ACursorOfAnyBytesIsAPoint(t *testing.T) {
	w := openWords(newMem(), told{})
	for i := range 40 {
		w.put(t, idOf(i), fmt.Sprint("word ", i))
	}
	number := encodePosition((&order{code: Signed}).point(FromInt(5), "a"), false)
	endless := encodePosition((&order{code: Words}).point(FromWord(strings.Repeat("z", 9000)), "a"), true)
	rng := seeded(t)
	cursors := [][]byte{number, endless, {}, {3}}
	for range 50 {
		b := make([]byte, rng.IntN(60))
		for i := range b {
			b[i] = byte(rng.IntN(256))
		}
		cursors = append(cursors, b)
	}
	for _, at := range cursors {
		for _, down := range []bool{true, false} {
			if l, err := w.Page(ctx, w.s, Between{}, down, at, 50, Want{}); err == nil && len(l.Members) > 40 {
				t.Errorf("%x: %d members", at, len(l.Members))
			}
		}
	}
}

func TestWords_ARebuildKeepsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openWords(newMem(), told{})
		for i := range 60 {
			w.put(t, idOf(i), fmt.Sprintf("%s%03d", strings.Repeat("x", 9), i))
		}
		for i := range 30 {
			w.change(t, idOf(i), State{})
		}
		before := w.check(t)
		must(t, w.Rebuild(ctx, w.s, nil, 0))
		if after := w.check(t); after.Leaves >= before.Leaves {
			t.Errorf("%d leaves became %d", before.Leaves, after.Leaves)
		}
	})
}

func TestWords_APictureHasTheNamesOfTheKeys(t *testing.T) {
	w := openWords(newMem(), told{})
	for i := range 40 {
		w.put(t, idOf(i), fmt.Sprintf("word %03d", i))
	}
	p, err := w.Picture(ctx, w.s, 500, []string{idOf(7)})
	must(t, err)
	var walk func(n *PictureNode)
	found := false
	walk = func(n *PictureNode) {
		if !strings.HasSuffix(n.Key, ":"+n.Name) {
			t.Errorf("the node %s has the key %s", n.Name, n.Key)
		}
		found = found || n.Name == p.Leaves[0] && n.Read
		for _, below := range n.Below {
			walk(below)
		}
	}
	walk(p.Root)
	if !found {
		t.Errorf("the leaf %s is not in the picture", p.Leaves[0])
	}
}
