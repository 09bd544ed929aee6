package templates

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"time"
)

//go:embed ashiato.css
var style []byte

var styleName = "ashiato." + hex.EncodeToString(sum(style)[:6]) + ".css"

func sum(text []byte) []byte {
	hash := sha256.Sum256(text)
	return hash[:]
}

// StyleName returns the stylesheet's file name. It changes with the stylesheet, so
// clients may cache the file forever.
func StyleName() string { return styleName }

// Style returns a handler that serves the stylesheet at any path. Mount it at a
// path that ends in StyleName.
func Style() http.Handler { return http.HandlerFunc(serveStyle) }

func serveStyle(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/css; charset=utf-8")
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	header.Set("Etag", `"`+styleName+`"`)
	http.ServeContent(w, r, styleName, time.Time{}, bytes.NewReader(style))
}
