package ashiato

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// normal returns the form in which handles, topics and addresses are compared. It knows no
// difference between upper and lower case, between wide and narrow letters, or between an accent
// that is part of its letter and one that follows it. Characters that cannot be seen are left out.
func normal(name string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(without(name, ignorable))))
}

// without returns text without its characters that are so.
func without(text string, are func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if are(r) {
			return -1
		}
		return r
	}, text)
}

// ignorable reports whether a reader sees nothing of r.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// visible reports whether a reader sees something of text.
func visible(text string) bool { return strings.TrimSpace(without(text, ignorable)) != "" }

// inWord reports whether r is part of a word, in any script.
func inWord(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.Nd) && !ignorable(r) }

// inName reports whether r may be in a topic or an address.
func inName(r rune) bool { return inWord(r) || r == '-' }

// topicsOf returns the topics that names are: each once, in their order. It looks at no more of
// them once there are too many.
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

// slugsFor returns the slugs that the page with a title and an id may get, the best first. The last
// has a part of the id, which no other page has.
func slugsFor(title, id string) []string {
	slug, own := SlugOf(title), id[max(0, len(id)-8):]
	if slug == "" {
		return []string{own}
	}
	return []string{slug, cut(slug, MaxSlug-len(own)-1) + "-" + own}
}

// cut returns at most n characters of a slug.
func cut(slug string, n int) string {
	if runes := []rune(slug); len(runes) > n {
		return strings.TrimRight(string(runes[:n]), "-")
	}
	return slug
}
