// Package english writes names into sentences.
package english

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// List joins words: a, b and c.
func List(words []string) string { return join(words, " and ") }

func Or(words []string) string { return join(words, " or ") }

func join(words []string, link string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + link + words[last]
}

// Known lists the known words and, if one is close to wrong, asks whether it was meant.
func Known(wrong string, words []string) string {
	if len(words) == 0 {
		return "there are none"
	}
	text := "known: " + strings.Join(words, ", ")
	if wrong == "" {
		return text
	}
	if meant := Nearest(wrong, words); meant != "" {
		return fmt.Sprintf("did you mean %q? %s", meant, text)
	}
	return text
}

// Nearest returns the word closest to wrong, or "" if wrong is no typing error of any.
func Nearest(wrong string, words []string) string {
	best, least := "", max(1, len(wrong)/3)+1
	for _, w := range words {
		if d := distance(strings.ToLower(wrong), strings.ToLower(w)); d < least {
			best, least = w, d
		}
	}
	return best
}

// distance counts letters to change, add, drop or swap with the next one.
func distance(a, b string) int {
	var last, row []int
	next := make([]int, len(b)+1)
	for j := range next {
		next[j] = j
	}
	for i := range len(a) {
		last, row, next = row, next, make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], last[j-1]+1)
			}
		}
	}
	return next[len(b)]
}

func Article(name string) string {
	first, _ := utf8.DecodeRuneInString(name)
	if strings.ContainsRune("AEIOaeio", unicode.ToLower(first)) {
		return "an " + name
	}
	return "a " + name
}

func Capital(name string) string {
	r, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[size:]
}

// Uncapital returns name with its first word in lower case: HTTPRoute is httpRoute.
func Uncapital(name string) string {
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsUpper(r) || i > 0 && i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			break
		}
		runes[i] = unicode.ToLower(r)
	}
	return string(runes)
}

// Duration returns d without zero units at its end: 720h.
func Duration(d time.Duration) string {
	text := d.String()
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, none) {
			text = text[:len(text)-2]
		}
	}
	return text
}
