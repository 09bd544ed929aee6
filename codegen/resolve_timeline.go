package codegen

import "fmt"

// The size and the segment of a ring that does not say its own.
const (
	ringSize    = 1024
	ringSegment = 64
)

// settleTimeline settles whose timeline x is, and its shape.
func (b *builder) settleTimeline(x *Index, c Clause) {
	size := c.Number("ring", ringSize)
	segment := c.Number("segment", min(ringSegment, max(1, size/8)))
	if segment > size {
		b.at(x.Pos, "segment=%d of a ring of %d: a segment is a part of the ring", segment, size)
	}
	x.Ring = &Ring{By: b.option(c, "by"), Shape: RingShape{size, segment}, Shards: c.Number("shards", 1)}
}

func timelineName(x *Index) string {
	if x.Ring.By != nil {
		return "NewestBy" + capital(x.Ring.By.Name)
	}
	return "Newest"
}

// timelineDef leaves out the shape: another one needs no rebuild.
func timelineDef(x *Index) string {
	text := "timeline " + x.Parts[0].Stored
	if by := x.Ring.By; by != nil {
		text += fmt.Sprintf(" by %s %s", by.Stored, keyKind(by.Type))
	}
	if x.Ring.Shards > 1 {
		text += fmt.Sprintf(" shards %d", x.Ring.Shards)
	}
	return text
}
