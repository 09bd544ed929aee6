package face

import (
	"strings"
	"unicode/utf8"
)

// longest is the maximum number of bytes of a text on a page.
const longest = 2000

// shown returns the form of text on a page. text may be anything in a database.
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
