package timeline

import (
	"cmp"
	"fmt"
	"strconv"
)

// DefaultSize is the Size of a ring whose Shape does not say.
const DefaultSize = 1024

// defaultSegment is how many stamps share a key if there are enough of them.
const defaultSegment = 64

// Shape is the geometry of a ring: how many numbers it shows, and how many of them
// share a key. The zero Shape is 1024 by 64.
type Shape struct {
	Size    int // slots: the ring shows the newest Size numbers
	Segment int // slots of a key; 1: a key for each entry
}

// shape is a Shape with its keys counted. The number n belongs to block n / width,
// and block b is kept in segment b mod blocks. There is one segment more than Size
// needs, so that the ring is whole while a new block is being filled.
type shape struct {
	size, width, blocks int64
	name                string // part of the keys of its segments
}

// shape returns s with the defaults filled in. It panics if s is impossible, which is
// a mistake in the program.
func (s Shape) shape() shape {
	if s.Size < 0 || s.Segment < 0 {
		panic(fmt.Sprintf("timeline: a ring of %d slots by %d", s.Size, s.Segment))
	}
	size := cmp.Or(int64(s.Size), DefaultSize)
	width := min(size, cmp.Or(int64(s.Segment), min(defaultSegment, max(1, size/8))))
	blocks := (size+width-1)/width + 1
	return shape{size, width, blocks, strconv.FormatInt(width, 10) + "x" + strconv.FormatInt(blocks, 10)}
}

// text is how g is named in the built item.
func (g shape) text() string {
	return strconv.FormatInt(g.size, 10) + "x" + strconv.FormatInt(g.width, 10)
}

func (g shape) block(n int64) int64 { return n / g.width }

// segment returns the number of the segment that keeps block b.
func (g shape) segment(b int64) int64 { return b % g.blocks }

// oldest returns the first number that the ring still shows when top is the newest.
// The numbers below have been lapped. A dawn takes no room, since mostly no record
// stands there.
func (g shape) oldest(top int64) int64 {
	n := top - g.size + 1
	if d := dawn(era(top)); n <= d && d <= top {
		n--
	}
	return max(1, n)
}

// next returns the number to go on from if all that is known is that m was handed
// out. It is some blocks further, above what others may hold and have not written
// yet, and at the beginning of a block, so that the block of m stays whole.
func (g shape) next(m int64) int64 {
	skip := min(2, (g.blocks-1)/4)
	return (g.block(m) + 1 + skip) * g.width
}

// isNew reports whether n is likely to be the first number ever in its segment.
func (g shape) isNew(n int64) bool {
	return n == 1 || n%g.width == 0 && n < g.width*g.blocks
}
