package templates

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"net/http"
	"time"
)

var (
	//go:embed ashiato.css
	ownStyle []byte

	// PictureStyle is the part for pictures on a page with another stylesheet. It takes the colors
	// --ink, --soft, --ai, --edge, --line, --mist and --paper, and the fonts --mono and --serif.
	//go:embed picture.css
	PictureStyle string

	style = append(ownStyle, PictureStyle...)
)

var styleName = fmt.Sprintf("ashiato.%.6x.css", sha256.Sum256(style))

// StyleName changes with the stylesheet, so clients may cache it forever.
func StyleName() string { return styleName }

// Style returns a handler that serves the stylesheet at any path that ends in StyleName.
func Style() http.Handler { return http.HandlerFunc(serveStyle) }

func serveStyle(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/css; charset=utf-8")
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	header.Set("Etag", `"`+styleName+`"`)
	http.ServeContent(w, r, styleName, time.Time{}, bytes.NewReader(style))
}
