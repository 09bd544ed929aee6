package ashiato

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// normal ignores case, width, the encoding of accents, and invisible characters.
func normal(name string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(without(name, ignorable))))
}

func without(text string, are func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if are(r) {
			return -1
		}
		return r
	}, text)
}

func ignorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func visible(text string) bool { return strings.TrimSpace(without(text, ignorable)) != "" }

func inWord(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.Nd) && !ignorable(r) }

func inName(r rune) bool { return inWord(r) || r == '-' }

// topicsOf returns each topic once, and at most one too many.
func topicsOf(names []string) (topics []string) {
	for _, name := range names {
		name = normal(name)
		if name != "" && !slices.Contains(topics, name) && len(topics) <= MaxTopics {
			topics = append(topics, name)
		}
	}
	return topics
}

// SlugOf joins the words of a title with hyphens, perhaps "".
func SlugOf(title string) string {
	words := strings.FieldsFunc(normal(title), func(r rune) bool { return !inWord(r) })
	return cut(strings.Join(words, "-"), MaxSlug)
}

// The last slug has a part of the id, so it is unique.
func slugsFor(title, id string) []string {
	slug, own := SlugOf(title), id[max(0, len(id)-8):]
	if slug == "" {
		return []string{own}
	}
	return []string{slug, cut(slug, MaxSlug-len(own)-1) + "-" + own}
}

func cut(slug string, n int) string {
	if runes := []rune(slug); len(runes) > n {
		return strings.TrimRight(string(runes[:n]), "-")
	}
	return slug
}
