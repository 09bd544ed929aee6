package timeline

import (
	"cmp"
	"fmt"
	"math/bits"
)

// DefaultSize is the default Size of a Shape.
const DefaultSize = 1024

// defaultSegment is the number of stamps per key, if the ring is large enough.
const defaultSegment = 64

// Shape is the geometry of a ring. The zero Shape is 1024 by 64. A ring stores the next power of
// two of numbers, so Size can change up to that without a rebuild.
type Shape struct {
	Size    int // the ring shows the newest Size numbers
	Segment int // numbers per key
}

// shape is a Shape with its keys counted. The number n belongs to block n / width, and block b to
// segment b mod blocks. One segment more than size needs is for the block being filled.
type shape struct {
	shown               int64
	size, width, blocks int64
}

// shape panics if s is invalid.
func (s Shape) shape() shape {
	if s.Size < 0 || s.Segment < 0 {
		panic(fmt.Sprintf("timeline: a ring of %d slots by %d", s.Size, s.Segment))
	}
	shown := cmp.Or(int64(s.Size), DefaultSize)
	size := int64(1) << bits.Len64(uint64(shown-1))
	width := min(size, cmp.Or(int64(s.Segment), min(defaultSegment, max(1, size/8))))
	return shape{shown, size, width, (size+width-1)/width + 1}
}

func (g shape) def() string { return fmt.Sprintf("ring %dx%d", g.size, g.width) }

func (g shape) block(n int64) int64 { return n / g.width }

func (g shape) segment(b int64) int64 { return b % g.blocks }

func (g shape) oldest(top int64) int64 { return lastOf(g.size, top) }

func (g shape) firstShown(top int64) int64 { return lastOf(g.shown, top) }

// lastOf returns the first of the newest n numbers. A dawn, usually without a record, does not
// count.
func lastOf(n, top int64) int64 {
	first := top - n + 1
	if d := dawn(era(top)); first <= d && d <= top {
		first--
	}
	return max(1, first)
}

// next returns the number to continue with after a loss, if m was handed out: the start of a block,
// some blocks above numbers that others may hold and have not written yet.
func (g shape) next(m int64) int64 {
	skip := min(2, (g.blocks-1)/4)
	return (g.block(m) + 1 + skip) * g.width
}

func (g shape) isNew(n int64) bool {
	return n == 1 || n%g.width == 0 && n < g.width*g.blocks
}

// The numbers of a lane are divided into eras. A build begins another one, in the middle of its
// numbers:
//
//	below the dawn  the existing records, in the order of their field
//	the dawn        records changed while the build ran
//	above the dawn  later changes, by the lane's counter
const eraBits = 44

func era(n int64) int64 { return n >> eraBits }

// dawn returns the middle of an era, which no writer gets.
func dawn(era int64) int64 { return era<<eraBits | 1<<(eraBits-1) }
