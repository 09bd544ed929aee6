// Package face contains the parts of the pages on which inspect shows a database, as templ
// components that take plain values. They write no style attribute and no script, and request only
// the stylesheet. All text from the database is in bdi or code elements, so that it cannot change
// the direction of the words around it.
package face

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ringtree/ringtree/templates"
)

//go:generate go tool templ generate -include-version=false -log-level=error

//go:embed face.css
var own []byte

// Style is the stylesheet, including the styles of pictures.
var Style = append(own, templates.PictureStyle...)

// StyleName is the name of the stylesheet's file. It changes with the stylesheet.
var StyleName = fmt.Sprintf("face.%.6x.css", sha256.Sum256(Style))

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
