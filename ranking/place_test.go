package ranking

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

func TestPlace_IsReadAsItWasWritten(t *testing.T) {
	for text, want := range map[string]place{
		"sea@8000000000000005":                   {by: "sea", score: keytree.FromInt(5)},
		"@0":                                     {},
		"sea!@8000000000000005@3fffffffffffffff": {by: "sea", score: keytree.FromInt(5).WithTie(keytree.MaxTie)},
		"!@0@1":                                  {score: keytree.Score{}.WithTie(1)},
		"sea!=c2VhAA":                            {by: "sea", score: keytree.FromWord("sea\x00")},
		"!=_-8":                                  {score: keytree.FromWord("\xff\xef")},
		"sea!invalid: NaN cannot be ranked":      {by: "sea", wrong: "invalid: NaN cannot be ranked"},
	} {
		proof.Equal(t, want.String(), text, "%+v is written", want)
		if got, err := parsePlace(text); got != want || err != nil {
			t.Errorf("%q is read as %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "sea", "sea@", "sea@x", "sea!@5@", "sea!@5@x", "sea!@x@5", "sea!=", "!=_-8=", "sea!=c2VhAA!"} {
		if p, err := parsePlace(text); err == nil {
			t.Errorf("%q is read as %+v", text, p)
		}
	}
}

func TestNote_IsReadAsItWasWritten(t *testing.T) {
	scores := []keytree.Score{keytree.FromInt(5), keytree.FromInt(-9)}
	tied := []keytree.Score{keytree.FromInt(5).WithTie(keytree.MaxTie), keytree.FromInt(5)}
	at := time.UnixMilli(1740000000000)
	for name, c := range map[string]struct {
		note note
		size int
	}{
		"without ties": {note{by: "sea", at: at, claims: []keytree.Claim{{ID: "a", Ver: 7, Scores: scores}, {ID: "b", Ver: 8, Scores: scores[:1]}}}, 43},
		"with a tie":   {note{by: "sea", at: at, claims: []keytree.Claim{{ID: "a", Ver: 7, Scores: scores}, {ID: "b", Ver: 8, Scores: tied[:1]}}}, 43 + 3*8},
		"of no scores": {note{claims: []keytree.Claim{{ID: "a", Ver: 7, Scores: []keytree.Score{}}}}, 7},
	} {
		text := c.note.encode()
		got, err := decodeNote(text)
		proof.Is(t, err, nil)
		proof.NoDiff(t, cmp.Diff(c.note, got, cmp.AllowUnexported(note{}, keytree.Score{})), "%s", name)
		proof.Equal(t, len(text), c.size, "%s", name)
	}
}

func TestTies_EveryFormOfATreeIsOneOfABoard(t *testing.T) {
	if words := "Top" + plug.WordsForm; !slices.Contains(plug.BoardNames("Top"), words) {
		t.Errorf("a tree of words is called %s, which is none of %v", words, plug.BoardNames("Top"))
	}
	for _, ties := range []Ties{NoTies, Shared, Dense, Newest, Oldest} {
		for _, low := range []bool{true, false} {
			if name := "Top" + ties.form(low); !slices.Contains(plug.BoardNames("Top"), name) {
				t.Errorf("a tree of a board with ties %d is called %s, which is none of %v", ties, name, plug.BoardNames("Top"))
			}
		}
	}
}

func TestTotals_StopAtTheLimits(t *testing.T) {
	const most, least = math.MaxInt64, math.MinInt64
	for _, c := range [][3]int64{{most, 1, most}, {least, -1, least}, {most, -1, most - 1}, {least, most, -1}} {
		proof.Equal(t, addUpTo(c[0], c[1]), c[2], "%d and %d", c[0], c[1])
	}
}
