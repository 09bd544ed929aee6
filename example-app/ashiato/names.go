package ashiato

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// normal returns the form in which handles, topics and addresses are compared. It ignores case, the
// width of letters, and whether an accent is part of its letter or follows it. Invisible characters
// are removed.
func normal(name string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(without(name, ignorable))))
}

// without returns text without the characters that are reports.
func without(text string, are func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if are(r) {
			return -1
		}
		return r
	}, text)
}

// ignorable reports whether r is invisible.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// visible reports whether text has a visible character.
func visible(text string) bool { return strings.TrimSpace(without(text, ignorable)) != "" }

// inWord reports whether r is part of a word, in any script.
func inWord(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.Nd) && !ignorable(r) }

// inName reports whether r may be in a topic or an address.
func inName(r rune) bool { return inWord(r) || r == '-' }

// topicsOf returns the topics that names stand for, each once, in order. It stops when there are
// too many.
func topicsOf(names []string) (topics []string) {
	for _, name := range names {
		name = normal(name)
		if name != "" && !slices.Contains(topics, name) && len(topics) <= MaxTopics {
			topics = append(topics, name)
		}
	}
	return topics
}

// SlugOf returns the words of a title with hyphens between them, in its own script. It returns ""
// if the title has no words.
func SlugOf(title string) string {
	words := strings.FieldsFunc(normal(title), func(r rune) bool { return !inWord(r) })
	return cut(strings.Join(words, "-"), MaxSlug)
}

// slugsFor returns the possible slugs of a page with this title and id, the best first. The last
// contains a part of the id, so no other page has it.
func slugsFor(title, id string) []string {
	slug, own := SlugOf(title), id[max(0, len(id)-8):]
	if slug == "" {
		return []string{own}
	}
	return []string{slug, cut(slug, MaxSlug-len(own)-1) + "-" + own}
}

// cut returns at most the first n characters of a slug.
func cut(slug string, n int) string {
	if runes := []rune(slug); len(runes) > n {
		return strings.TrimRight(string(runes[:n]), "-")
	}
	return slug
}
