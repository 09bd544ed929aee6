package resolve

import (
	"fmt"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/stored"
	"github.com/ringtree/ringtree/codegen/internal/tag"
)

// The size and the segment of a ring that does not say its own.
const (
	ringSize    = 1024
	ringSegment = 64
)

// settleTimeline settles the owner and the shape of the timeline x.
func (b *builder) settleTimeline(x *model.Index, c tag.Clause) {
	size := c.Number("ring", ringSize)
	segment := c.Number("segment", min(ringSegment, max(1, size/8)))
	if segment > size {
		b.At(x.Pos, "segment=%d of a ring of %d: a segment is a part of the ring", segment, size)
	}
	x.Ring = &model.Ring{By: b.option(c, "by"), Shape: model.RingShape{Size: size, Segment: segment}, Shards: c.Number("shards", 1)}
}

func timelineName(x *model.Index) string {
	if x.Ring.By != nil {
		return "NewestBy" + english.Capital(x.Ring.By.Name)
	}
	return "Newest"
}

// timelineDef leaves out the shape: another one needs no rebuild.
func timelineDef(x *model.Index) string {
	text := "timeline " + x.Parts[0].Stored
	if by := x.Ring.By; by != nil {
		text += fmt.Sprintf(" by %s %s", by.Stored, stored.KeyKind(by.Type))
	}
	if x.Ring.Shards > 1 {
		text += fmt.Sprintf(" shards %d", x.Ring.Shards)
	}
	return text
}
