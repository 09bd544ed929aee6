package keytree

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A word ends with a zero, so that none is a prefix of another.
func wordOf(text string) Score { return FromWord(text + "\x00") }

type told map[string]State

func (t told) States(_ context.Context, _ kv.Store, ids []string) ([]State, error) {
	states := make([]State, len(ids))
	for i, id := range ids {
		states[i] = t[id]
	}
	return states, nil
}

type words struct {
	ranking
	told
}

func openWords(s kv.Store, truth told) *words {
	c := Config{Name: "test.words", Code: Words, Truth: truth, Local: NewLocal(1 << 16), Now: time.Now, Limit: 4}
	return &words{ranking{Tree: New(c), s: s}, truth}
}

func (w *words) change(t testing.TB, id string, to State) {
	t.Helper()
	was := w.told[id]
	to.Ver = was.Ver + 1
	due := new(Due)
	if to.In {
		added, err := w.Insert(ctx, w.s, id, to)
		must(t, err)
		due.Merge(added)
	}
	w.told[id] = to
	for _, at := range []State{was, to} {
		tidied, err := w.Tidy(ctx, w.s, Tidying{id, at.Score, to})
		must(t, err)
		due.Merge(tidied)
	}
	must(t, due.Report(ctx, w.s))
}

func (w *words) put(t testing.TB, id, text string) {
	t.Helper()
	w.change(t, id, State{In: true, Score: wordOf(text)})
}

func (w *words) check(t *testing.T) Report {
	t.Helper()
	m := &model{order: w.orderOf(t), scores: map[string]Score{}}
	for id, st := range w.told {
		if st.In {
			m.scores[id] = st.Score
		}
	}
	want := m.members()
	checkPages(t, &w.ranking, want, true, 7)
	checkRanks(t, &w.ranking, m)
	report := w.checkInvariants(t, want...)
	if report.Members != len(want) || report.Stale+report.Pending+report.Drift > 0 {
		t.Errorf("verify: %+v", report)
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
				changes = 30 // Each reports to a node for each level of the beginning.
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
			openWords(w.s, w.told).check(t) // as a process that has not read the tree
		})
	}
}

func (w *words) checkCount(t *testing.T, text string) {
	t.Helper()
	first, s := FromWord("0"), FromWord(text)
	for _, b := range []Between{{High: &s}, {Low: &s}, {&first, &s}} {
		want := 0
		for _, st := range w.told {
			if st.In && (b.Low == nil || st.Score.Compare(*b.Low) >= 0) && (b.High == nil || st.Score.Compare(*b.High) < 0) {
				want++
			}
		}
		n, err := w.Count(ctx, w.s, b)
		if err != nil || n != want {
			t.Errorf("of %q, %d words are in %+v, %v; want %d", text, n, b, err, want)
		}
		if l, err := w.Page(ctx, w.s, b, false, nil, 500, Want{}); err != nil || len(l.Members) != want {
			t.Errorf("of %q, %d words are shown in %+v, %v; want %d", text, len(l.Members), b, err, want)
		}
	}
}

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
	for all := []string{""}; len(all[0]) <= 4*perLevel; all = p.namesBelow(all) {
		for _, name := range all {
			if other, twice := seen[p.key(name)]; twice {
				t.Errorf("%q and %q have one key", name, other)
			}
			seen[p.key(name)] = name
		}
	}
}

func TestWords_ADamagedLeafIsMissing(t *testing.T) {
	l := &leaf{entries: []entry{{FromWord("a\x00"), 1, "x", false}, {FromWord("b\x00"), 7, "yz", true}}}
	whole := l.encode(nil)
	for n := range len(whole) - frame.Sum {
		cut := frame.Whole(slices.Clone(whole[:n]))
		if nd, err := decodeNode(kv.Result{Value: cut, Version: 1}); nd.leaf != nil || err != nil {
			t.Errorf("of %d bytes %d are a leaf, %v", len(whole), n, err)
		}
	}
}

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
