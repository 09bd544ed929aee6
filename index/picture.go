package index

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Picture is the keys of a list as stored.
type Picture struct {
	Segments []Segment
	Room     int    // about how many members fit in a segment; 0: unknown
	Words    string // what was left out
}

// Segment is one key of a list.
type Segment struct {
	Key   string
	Bytes int
	Live  int // members
	Stale int // entries that a fold drops
}

// Picture returns at most limit segments of the list, and reads no records. Two trips.
func (l *List[T, K]) Picture(ctx context.Context, limit int) (Picture, error) {
	return l.list.picture(ctx, limit)
}

func (l *list) picture(ctx context.Context, limit int) (Picture, error) {
	ctx, end := l.host.Begin(ctx, "Picture")
	defer end()
	if err := l.host.Ready(ctx); err != nil {
		return Picture{}, err
	}
	drawn, err := l.logs.Picture(ctx, kv.Near(l.store), l.place, limit)
	if err != nil {
		return Picture{}, l.failure(err)
	}
	p := Picture{Room: drawn.Room, Words: drawn.Words}
	for _, part := range drawn.Parts {
		p.Segments = append(p.Segments, Segment{part.Key, part.Bytes, part.Live, part.Stale})
	}
	return p, nil
}
