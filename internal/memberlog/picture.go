package memberlog

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Picture returns at most most segments of the list at place.
func (l *Logs) Picture(ctx context.Context, s kv.Store, place string, most int) (plug.Picture, error) {
	h, err := l.readHead(ctx, s, place)
	if err != nil {
		return plug.Picture{}, l.failure(place, err)
	}
	var p plug.Picture
	parts := h.parts
	if len(parts) > most {
		p.Words = fmt.Sprintf("Only %d of its %d segments are drawn.", most, len(parts))
		parts = parts[:most]
	}
	var keys []string
	for _, part := range parts {
		keys = append(keys, l.key(place, part.name))
	}
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return plug.Picture{}, l.failure(place, err)
	}
	rows, bytes := 0, 0
	for i, r := range results {
		if r.Err != nil {
			continue // removed in the meantime, or never needed
		}
		g, err := parseSegment(r.Value)
		if err != nil {
			return plug.Picture{}, l.failure(place, wire.Corrupt(keys[i], err))
		}
		p.Parts = append(p.Parts, l.part(place, keys[i], &g))
		rows, bytes = rows+len(g.rows), bytes+g.size
	}
	if rows > 0 {
		p.Room = rows * l.Limits.Split / bytes
	}
	return p, nil
}

// part returns g, stored under key, with the members according to its last entries.
func (l *Logs) part(place, key string, g *segment) plug.Part {
	members := make(map[string]bool)
	for _, r := range g.rows {
		members[r.ID] = r.Member(l.Now())
	}
	p := plug.Part{Name: key[len(l.Key(place)):], Key: key, Bytes: g.size}
	for _, in := range members {
		if in {
			p.Live++
		}
	}
	p.Stale = len(g.rows) - p.Live
	return p
}
