package timeline

import (
	"fmt"
	"strconv"
)

// DefaultSize is the number of places of a ring that does not say its own.
const DefaultSize = 1024

// defaultSegment is how many stamps share a key where there are enough of them.
const defaultSegment = 64

// Shape is the geometry of a ring: how many numbers it shows, and how many of
// them share a key. The zero Shape is 1024 by 64.
type Shape struct {
	Size    int // places: the ring is the newest Size numbers
	Segment int // stamps to a key; 1: a key for each entry
}

// shape is a Shape with its keys counted. The number n belongs to block n /
// width, and block b is kept in segment b mod blocks. There is one segment more
// than Size needs: while a new block is being filled, the ring still is whole.
type shape struct {
	size, width, blocks int64
	name                string // what the keys of its segments have in common
}

// shape returns s with what it does not say filled in. It panics at a shape
// that cannot be, since that is a mistake in the program's wiring.
func (s Shape) shape() shape {
	if s.Size < 0 || s.Segment < 0 {
		panic(fmt.Sprintf("timeline: a ring of %d places by %d", s.Size, s.Segment))
	}
	size, width := int64(s.Size), int64(s.Segment)
	if size == 0 {
		size = DefaultSize
	}
	if width == 0 {
		width = min(defaultSegment, max(1, size/8))
	}
	width = min(width, size)
	blocks := (size+width-1)/width + 1
	return shape{size, width, blocks, strconv.FormatInt(width, 10) + "x" + strconv.FormatInt(blocks, 10)}
}

func (g shape) block(n int64) int64 { return n / g.width }

// segment returns the number of the segment that keeps block b.
func (g shape) segment(b int64) int64 { return b % g.blocks }

// oldest returns the first number that the ring still shows when top is the
// newest: what is below has been lapped.
func (g shape) oldest(top int64) int64 { return max(1, top-g.size+1) }

// next returns the number to go on from when all that is known is that m was
// handed out: some blocks further, so that it is above what others may hold
// that is not written yet, and at the beginning of a block, so that the block
// of m stays whole.
func (g shape) next(m int64) int64 {
	skip := min(2, (g.blocks-1)/4)
	return (g.block(m) + 1 + skip) * g.width
}

// isNew tells whether n is likely to be the first number ever in its segment.
func (g shape) isNew(n int64) bool {
	return n == 1 || n%g.width == 0 && n < g.width*g.blocks
}
