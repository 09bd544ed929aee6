package face

import (
	"strings"
	"unicode/utf8"
)

// longest is how many bytes of a text a page shows.
const longest = 2000

// shown returns what a page shows of text, which may be anything that a database holds.
func shown(text string) string {
	if len(text) <= longest {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	end := longest
	for end > longest-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.ToValidUTF8(text[:end], "\uFFFD") + " … and more"
}
