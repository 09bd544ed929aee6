package templates

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/a-h/templ"
)

// Picture is a picture of keys, such as a RingPicture.
type Picture interface {
	templ.Component
	key() []entry
}

// WriteSVG writes a picture as an SVG file with its style and key, in light or dark colors.
func WriteSVG(ctx context.Context, w io.Writer, p Picture) error {
	var page bytes.Buffer
	if err := p.Render(ctx, &page); err != nil {
		return err
	}
	drawing := firstSVG.FindSubmatch(page.Bytes())
	if drawing == nil {
		return errors.New("templates: the picture draws nothing")
	}
	wide, errW := strconv.ParseFloat(string(drawing[2]), 64)
	high, errH := strconv.ParseFloat(string(drawing[3]), 64)
	if err := errors.Join(errW, errH); err != nil {
		return err
	}
	key := placeKey(p.key(), wide)
	return alone(aloneDrawing{
		inner: string(drawing[1]), content: string(drawing[4]),
		wide: wide, high: high, key: key, keyHigh: keyHeight(key),
	}).Render(ctx, w)
}

var firstSVG = regexp.MustCompile(`(?s)<svg (class="\w+" viewBox="0 0 ([\d.]+) ([\d.]+)") role="img">(.*?)</svg>`)

const (
	aloneMargin = 20.0
	keyLine     = 26.0
	keySign     = 28.0
	keyGlyph    = 8.8
	keyBetween  = 24.0
)

type aloneDrawing struct {
	inner, content string
	wide, high     float64
	key            []keyDrawing
	keyHigh        float64
}

type keyDrawing struct {
	entry
	point
}

func placeKey(entries []entry, width float64) []keyDrawing {
	var placed []keyDrawing
	at := point{}
	for _, e := range entries {
		needs := keySign + keyGlyph*float64(len([]rune(e.words)))
		if at.x > 0 && at.x+needs > width {
			at = point{0, at.y + keyLine}
		}
		placed = append(placed, keyDrawing{e, at})
		at.x += needs + keyBetween
	}
	return placed
}

func keyHeight(key []keyDrawing) float64 {
	if len(key) == 0 {
		return 0
	}
	return key[len(key)-1].y + keyLine + aloneMargin
}

func (a aloneDrawing) around() (wide, high string) {
	return decimal(a.wide + 2*aloneMargin), decimal(a.high + a.keyHigh + 2*aloneMargin)
}

func (a aloneDrawing) frame() string {
	wide, high := a.around()
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %[1]s %[2]s\" width=\"%[1]s\" height=\"%[2]s\" role=\"img\">\n<style>\n%[3]s</style>\n"+
		"<rect width=\"%[1]s\" height=\"%[2]s\" rx=\"6\" fill=\"var(--paper)\"></rect>\n<svg %[4]s x=\"20\" y=\"20\" width=\"%[5]s\" height=\"%[6]s\">",
		wide, high, aloneStyle(), a.inner, decimal(a.wide), decimal(a.high))
}

var colorToken = regexp.MustCompile(`(?m)^\t(--[\w-]+): (?:light-dark\((#\w+), (#\w+)\)|([^;]+));`)

// Viewers of SVG files may not support light-dark.
func aloneStyle() string {
	var light, dark strings.Builder
	for _, t := range colorToken.FindAllStringSubmatch(string(style), -1) {
		switch {
		case t[2] != "":
			fmt.Fprintf(&light, " %s: %s;", t[1], t[2])
			fmt.Fprintf(&dark, " %s: %s;", t[1], t[3])
		case t[1] == "--mono" || t[1] == "--serif":
			fmt.Fprintf(&light, " %s: %s;", t[1], t[4])
		}
	}
	_, rules, _ := strings.Cut(PictureStyle, "/* The signs of pictures */\n")
	return fmt.Sprintf(":root {%s }\n@media (prefers-color-scheme: dark) { :root {%s } }\n%s", light.String(), dark.String(), rules)
}
