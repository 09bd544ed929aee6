package templates

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Changes lists the differences between two versions of a text.
type Changes []Change

// Change is a run of words that was replaced or, if Before and After are equal, kept.
type Change struct{ Before, After string }

type run struct {
	text      string
	gone, new bool
}

// Removed words come before added ones.
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

// Changed returns the changes from before to after, with the limits of Compare.
func Changed(before, after string) Changes {
	a, b := wordOf.FindAllString(before, -1), wordOf.FindAllString(after, -1)
	start := alike(len(a), len(b), func(i int) bool { return a[i] == b[i] })
	end := alike(len(a)-start, len(b)-start, func(i int) bool { return a[len(a)-1-i] == b[len(b)-1-i] })
	head, tail := strings.Join(a[:start], ""), strings.Join(a[len(a)-end:], "")
	a, b = a[start:len(a)-end], b[start:len(b)-end]
	common := longest(a, b)
	all := Changes(nil).add(head, head)
	for len(a) > 0 || len(b) > 0 {
		kept := 0
		for common.same(a[kept:], b[kept:]) {
			kept++
		}
		all = all.add(strings.Join(a[:kept], ""), strings.Join(b[:kept], ""))
		a, b = a[kept:], b[kept:]
		gone, added := 0, 0
		for (gone < len(a) || added < len(b)) && !common.same(a[gone:], b[added:]) {
			if added == len(b) || gone < len(a) && common.dropFirst(a[gone:], b[added:]) {
				gone++
			} else {
				added++
			}
		}
		all = all.add(strings.Join(a[:gone], ""), strings.Join(b[:added], ""))
		a, b = a[gone:], b[added:]
	}
	return all.add(tail, tail)
}

func (c Changes) add(before, after string) Changes {
	if n := len(c); n > 0 && (c[n-1].Before == c[n-1].After) == (before == after) {
		c[n-1].Before += before
		c[n-1].After += after
	} else if before != "" || after != "" {
		c = append(c, Change{before, after})
	}
	return c
}

// besideChange characters stay on each side of an excerpt.
const besideChange = 40

// Excerpt shortens the changes to about limit characters, with a few words around each.
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

func firstOf(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return text
}
