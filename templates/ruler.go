package templates

import (
	"context"
	"io"
	"math"
	"strings"
)

// Ruler shows one rank among all, on a logarithmic scale.
type Ruler struct{ Rank, Of int64 }

// Render writes the ruler, or nothing if there is nothing to rank.
func (r Ruler) Render(ctx context.Context, w io.Writer) error {
	if r.Rank < 1 || r.Of < 1 {
		return nil
	}
	return ruler(r).Render(ctx, w)
}

const (
	rulerWide  = 336.0
	rulerLeft  = 8.0
	rulerRight = 328.0
	rulerGlyph = 7.9 // the width of a character
)

type mark struct {
	x      float64
	anchor string
	text   string
}

func (r Ruler) at(n int64) float64 {
	if r.Of == 1 {
		return rulerLeft
	}
	share := math.Log(float64(min(n, r.Of))) / math.Log(float64(r.Of))
	return rulerLeft + share*(rulerRight-rulerLeft)
}

// Long strokes are at powers of ten and the end.
func (r Ruler) ticks() string {
	var path strings.Builder
	path.WriteString(points("M", rulerLeft, 30) + points("H", rulerRight))
	stroke := func(n int64, height float64) {
		path.WriteString(points("M", r.at(n), 30) + points("v", -height))
	}
	for power := int64(1); power <= r.Of; power *= 10 {
		stroke(power, 9)
		for digit := int64(2); digit <= 9 && digit <= r.Of/power; digit++ {
			stroke(digit*power, 4)
		}
		if power > math.MaxInt64/10 {
			break
		}
	}
	stroke(r.Of, 9)
	return path.String()
}

// The first and last rank are marked, and powers of ten that fit between.
func (r Ruler) marks() []mark {
	first := mark{rulerLeft - 4, "start", "1"}
	if r.Of == 1 {
		return []mark{first}
	}
	last := mark{rulerRight + 6, "end", Grouped(r.Of)}
	marks := []mark{first}
	free := first.x + 2*rulerGlyph
	for power := int64(10); power <= r.Of/2; power *= 10 {
		text := Grouped(power)
		half := float64(len(text)) * rulerGlyph / 2
		x := r.at(power)
		if x-half > free && x+half < last.x-float64(len(last.text)+1)*rulerGlyph {
			marks = append(marks, mark{x, "middle", text})
			free = x + half + rulerGlyph
		}
		if power > math.MaxInt64/10 {
			break
		}
	}
	return append(marks, last)
}

func (r Ruler) you() mark {
	text := "#" + Grouped(r.Rank)
	x, half := r.at(r.Rank), float64(len(text))*rulerGlyph/2
	switch {
	case x-half < 0:
		return mark{0, "start", text}
	case x+half > rulerWide:
		return mark{rulerWide, "end", text}
	}
	return mark{x, "middle", text}
}

// A shut bar is a dashed outline.
type bar struct {
	x, y, width float64 // y is the middle
	parts       []part
	now, shut   bool
}

// part has the shares of live entries and, at half height, of stale ones.
type part struct{ full, half float64 }

func (b bar) Render(ctx context.Context, w io.Writer) error { return bars(b).Render(ctx, w) }

func (b bar) between() float64 { return math.Min(3, b.width*.08) }

func (b bar) each() float64 {
	n := float64(len(b.parts))
	return (b.width - b.between()*(n-1)) / n
}

func (b bar) left(i int) float64 { return b.x + float64(i)*(b.each()+b.between()) }

func share(n, room int64) float64 {
	if n <= 0 || room <= 0 {
		return 0
	}
	return math.Min(1, float64(n)/float64(room))
}
