package templates

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
)

func TestCompare_MarksTheWordsThatDiffer(t *testing.T) {
	for _, test := range []struct {
		theirs, mine     string
		inTheirs, inMine []Piece
	}{
		{"", "", nil, nil},
		{"one two", "one two", []Piece{{"one two", false}}, []Piece{{"one two", false}}},
		{"", "new text", nil, []Piece{{"new text", true}}},
		{"It was grey, I think.", "It was red, I think.", []Piece{{"It was ", false}, {"grey, ", true}, {"I think.", false}}, []Piece{{"It was ", false}, {"red, ", true}, {"I think.", false}}},
		{"a b c d e", "a x c e", []Piece{{"a ", false}, {"b ", true}, {"c ", false}, {"d ", true}, {"e", false}}, []Piece{{"a ", false}, {"x ", true}, {"c e", false}}},
		{"a\n\nb", "a\n\nb c", []Piece{{"a\n\n", false}, {"b", true}}, []Piece{{"a\n\n", false}, {"b c", true}}},
	} {
		inTheirs, inMine := Compare(test.theirs, test.mine)
		proof.NoDiff(t, cmp.Diff([][]Piece{test.inTheirs, test.inMine}, [][]Piece{inTheirs, inMine}), "%q and %q: pieces", test.theirs, test.mine)
	}
}

func text(pieces []Piece, differing bool) string {
	var joined strings.Builder
	for _, p := range pieces {
		if differing || !p.Differs {
			joined.WriteString(p.Text)
		}
	}
	return joined.String()
}

func TestCompare_LosesNothing(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	sentence := func() string {
		var all strings.Builder
		for range random.IntN(30) {
			all.WriteString([]string{"a ", "b ", "c\n", "d\t", "é ", " ", "\n\n"}[random.IntN(7)])
		}
		return all.String()
	}
	for range 500 {
		theirs, mine := sentence(), sentence()
		inTheirs, inMine := Compare(theirs, mine)
		want := []string{theirs, mine, text(inTheirs, false)}
		got := []string{text(inTheirs, true), text(inMine, true), text(inMine, false)}
		proof.NoDiff(t, cmp.Diff(want, got), "%q and %q: theirs, mine, what is common", theirs, mine)
	}
}

func TestCompare_LongTextsCostLittle(t *testing.T) {
	theirs, mine := "same "+strings.Repeat("x ", 200_000)+"end", "same "+strings.Repeat("y ", 200_000)+"end"
	inTheirs, inMine := Compare(theirs, mine)
	if len(inTheirs) != 3 || len(inMine) != 3 || text(inTheirs, true) != theirs || text(inMine, true) != mine {
		t.Errorf("want three pieces of each, got %d and %d", len(inTheirs), len(inMine))
	}
}

func TestChanged_SaysWhatReplacesWhat(t *testing.T) {
	for _, test := range []struct {
		before, after string
		want          Changes
	}{
		{"", "", nil},
		{"same", "same", Changes{{"same", "same"}}},
		{"", "new", Changes{{"", "new"}}},
		{"one two three", "one 2 three", Changes{{"one ", "one "}, {"two ", "2 "}, {"three", "three"}}},
		{"a b c d e", "a x c e", Changes{{"a ", "a "}, {"b ", "x "}, {"c ", "c "}, {"d ", ""}, {"e", "e"}}},
		{"a c", "a b c", Changes{{"a ", "a "}, {"", "b "}, {"c", "c"}}},
	} {
		proof.NoDiff(t, cmp.Diff(test.want, Changed(test.before, test.after)), "%q to %q: changes", test.before, test.after)
	}
}

func TestChanges_Excerpt_ShowsEachChangeWithWordsAround(t *testing.T) {
	long := strings.Repeat("x ", 100)
	got := Changed(long+"one "+long+"two "+long, long+"1 "+long+"2 "+long).Excerpt(600)
	head, tail := strings.Repeat("x ", 20), strings.Repeat(" x", 19)+" "
	stays := func(text string) Change { return Change{text, text} }
	want := Changes{
		stays("…" + tail), {"one ", "1 "}, stays(head + "…" + tail), {"two ", "2 "}, stays(head + "…"),
	}
	proof.NoDiff(t, cmp.Diff(want, got), "excerpt")
}

func TestChanges_Excerpt_IsShort(t *testing.T) {
	for _, c := range []Changes{
		Changed(strings.Repeat("茶", 5000), strings.Repeat("碗", 5000)),
		Changed(strings.Repeat("a b ", 300), strings.Repeat("a c ", 300)),
	} {
		n := 0
		for _, change := range c.Excerpt(100) {
			n += len([]rune(change.Before)) + len([]rune(change.After))
		}
		if n > 350 {
			t.Errorf("want about 100 characters, got %d", n)
		}
	}
}
