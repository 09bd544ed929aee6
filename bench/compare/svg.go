package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// A chart is a row of panels as an SVG, in colors that also show on a dark page.

const (
	panelWidth, labelWidth, barHeight = 460, 150, 16
	ink                               = "#808080"
)

var colors = []string{"#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#bab0ac"}

// bar is one value of a panel.
type bar struct {
	label string
	value float64 // above 0
	ours  bool
}

// bars draws a panel for each title, its bars on a logarithmic scale of its own.
func bars(titles []string, panels [][]bar, unit string) string {
	var body strings.Builder
	y := 0
	for i, panel := range panels {
		y += 24
		fmt.Fprintf(&body, `<text x="0" y="%d" font-weight="bold">%s</text>`+"\n", y, html.EscapeString(titles[i]))
		low, high := math.Inf(1), 0.0
		for _, b := range panel {
			low, high = min(low, b.value), max(high, b.value)
		}
		for _, b := range panel {
			y += barHeight + 3
			// The least is a twentieth of the width, or it could not be seen.
			width := panelWidth * (0.05 + 0.95*math.Log(b.value/low)/max(math.Log(high/low), 1e-9))
			color := colors[9]
			if b.ours {
				color = colors[0]
			}
			fmt.Fprintf(&body, `<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%d" y="%d" width="%.0f" height="%d" fill="%s"/><text x="%.0f" y="%d">%s %s</text>`+"\n",
				labelWidth-6, y, html.EscapeString(b.label), labelWidth, y-barHeight+4, width, barHeight-2, color,
				labelWidth+width+6, y, short(b.value), unit)
		}
		y += 8
	}
	return picture(labelWidth+panelWidth+110, y+8, body.String())
}

// curve is one line of a panel.
type curve struct {
	label string
	x, y  []float64 // above 0
}

// curves draws a panel for each title, with logarithmic axes.
func curves(titles []string, panels [][]curve, unit string) string {
	const height, left, legend = 220, 60, 170
	var body strings.Builder
	top := 0
	for i, panel := range panels {
		lowX, highX, lowY, highY := math.Inf(1), 0.0, math.Inf(1), 0.0
		for _, c := range panel {
			for j := range c.x {
				lowX, highX, lowY, highY = min(lowX, c.x[j]), max(highX, c.x[j]), min(lowY, c.y[j]), max(highY, c.y[j])
			}
		}
		// Whole powers of ten around all values.
		lowY, highY = math.Pow(10, math.Floor(math.Log10(lowY))), math.Pow(10, math.Ceil(math.Log10(highY)))
		atX := func(x float64) float64 { return left + panelWidth*math.Log(x/lowX)/max(math.Log(highX/lowX), 1e-9) }
		atY := func(y float64) float64 {
			return float64(top+30+height) - height*math.Log(y/lowY)/max(math.Log(highY/lowY), 1e-9)
		}
		fmt.Fprintf(&body, `<text x="0" y="%d" font-weight="bold">%s</text>`+"\n", top+18, html.EscapeString(titles[i]))
		for y := lowY; y <= highY*1.01; y *= 10 {
			fmt.Fprintf(&body, `<line x1="%d" x2="%d" y1="%.0f" y2="%.0f" stroke="%s" stroke-opacity="0.3"/><text x="%d" y="%.0f" text-anchor="end">%s</text>`+"\n",
				left, left+panelWidth, atY(y), atY(y), ink, left-6, atY(y)+4, short(y))
		}
		for x := lowX; x <= highX*1.01; x *= 10 {
			fmt.Fprintf(&body, `<text x="%.0f" y="%d" text-anchor="middle">%s</text>`+"\n", atX(x), top+height+46, short(x))
		}
		for j, c := range panel {
			color := colors[j%len(colors)]
			var points []string
			for k := range c.x {
				points = append(points, fmt.Sprintf("%.0f,%.0f", atX(c.x[k]), atY(c.y[k])))
			}
			fmt.Fprintf(&body, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/><text x="%d" y="%d" fill="%s">%s</text>`+"\n",
				strings.Join(points, " "), color, left+panelWidth+12, top+40+j*16, color, html.EscapeString(c.label))
		}
		top += height + 60
	}
	fmt.Fprintf(&body, `<text x="%d" y="%d">pages, and %s</text>`+"\n", left, top, unit)
	return picture(left+panelWidth+legend, top+10, body.String())
}

func picture(width, height int, body string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12" fill="%s">
%s</svg>
`, width, height, width, height, ink, body)
}

// short returns v with as many digits as a reader needs.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 10_000:
		return fmt.Sprintf("%.3gk", v/1e3)
	case v >= 10:
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprintf("%.2g", v)
	}
}
