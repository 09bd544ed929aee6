package templates

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Changes lists the differences between two versions of a text.
type Changes []Change

// Change is a run of words that is unchanged, if Before and After are equal, or replaced.
type Change struct{ Before, After string }

// A run is a number of words in both versions, or in only one of them.
type run struct {
	text      string
	gone, new bool
}

// runs returns the words of both versions, removed words before added ones.
func (c Changes) runs() []run {
	var all []run
	for _, change := range c {
		switch {
		case change.Before == change.After:
			all = append(all, run{text: change.After})
		default:
			all = append(all, run{text: change.Before, gone: true}, run{text: change.After, new: true})
		}
	}
	return slices.DeleteFunc(all, func(r run) bool { return r.text == "" })
}

// Changed returns the changes from before to after, from the pieces of Compare.
func Changed(before, after string) Changes {
	a, b := Compare(before, after)
	var all Changes
	for len(a) > 0 || len(b) > 0 {
		var c Change
		c.Before, a = cutDiffering(a)
		c.After, b = cutDiffering(b)
		if c == (Change{}) {
			c.Before, a, b = cutCommon(a, b)
			c.After = c.Before
		}
		all = append(all, c)
	}
	return all
}

// cutDiffering cuts the first piece if it differs.
func cutDiffering(all []Piece) (text string, rest []Piece) {
	if len(all) > 0 && all[0].Differs {
		return all[0].Text, all[1:]
	}
	return "", all
}

// cutCommon cuts the common beginning of both.
func cutCommon(a, b []Piece) (text string, restA, restB []Piece) {
	n := min(len(a[0].Text), len(b[0].Text))
	return a[0].Text[:n], cutText(a, n), cutText(b, n)
}

func cutText(all []Piece, n int) []Piece {
	if len(all[0].Text) == n {
		return all[1:]
	}
	return append([]Piece{{Text: all[0].Text[n:]}}, all[1:]...)
}

// besideChange is the number of unchanged characters that Excerpt keeps on each side.
const besideChange = 40

// Excerpt returns the changes with a few words around each, in about limit characters. An ellipsis
// marks omissions.
func (c Changes) Excerpt(limit int) Changes {
	var all Changes
	for i, change := range c {
		if change.Before == change.After {
			short := middleLeftOut(change.Before, i > 0, i+1 < len(c))
			change = Change{short, short}
		}
		if limit <= 0 {
			return append(all, Change{"…", "…"})
		}
		before, after := firstOf(change.Before, limit), firstOf(change.After, limit)
		limit -= utf8.RuneCountInString(before) + utf8.RuneCountInString(after)
		all = append(all, Change{before, after})
	}
	return all
}

// middleLeftOut returns the beginning of text if a change precedes it, and its end if one follows
// it.
func middleLeftOut(text string, behind, before bool) string {
	runes := []rune(text)
	start, end := 0, len(runes)
	if behind {
		start = besideChange
	}
	if before {
		end -= besideChange
	}
	if start >= end {
		return text
	}
	head, tail := string(runes[:start]), string(runes[end:])
	return head[:strings.LastIndexAny(head, " \n")+1] + "…" + tail[max(0, strings.IndexAny(tail, " \n")):]
}

// firstOf returns at most limit characters of text.
func firstOf(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return text
}
