package templates

import (
	"context"
	"io"
	"math"
)

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
