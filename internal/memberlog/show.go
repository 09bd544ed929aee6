package memberlog

import (
	"context"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const shownAtMost = 100

// Members returns the readable ids in a segment, in or out.
func Members(value []byte) (ids []string) {
	g, err := parseSegment(value)
	if err != nil {
		g.rows = readable(value)
	}
	for _, r := range g.rows {
		ids = append(ids, r.ID)
	}
	return ids
}

func Show(key string, value []byte, now time.Time) ([]string, error) {
	if len(value) > 0 && value[0] == headFormat {
		h, err := parseHead(value, 0)
		if err != nil {
			return nil, wire.Corrupt(key, err)
		}
		lines := []string{fmt.Sprintf("head of a list of %d segments", len(h.parts))}
		for _, p := range h.parts {
			lines = append(lines, fmt.Sprintf("#%s: %d members when it was made", nameText.EncodeToString(p.name[:]), p.members))
		}
		return lines, nil
	}
	g, err := parseSegment(value)
	if err != nil {
		return nil, wire.Corrupt(key, err)
	}
	if g.retired {
		return []string{"first segment, retired: other segments hold the list"}, nil
	}
	lines := []string{fmt.Sprintf("segment of a list: %d records, %d of them since it was made", len(g.rows), len(g.rows)-g.folded)}
	for i, r := range g.rows {
		if i == shownAtMost {
			return append(lines, fmt.Sprintf("and %d more", len(g.rows)-i)), nil
		}
		in := "out"
		if r.Member(now) {
			in = "in"
		}
		line := fmt.Sprintf("%s %s at rev %d", r.ID, in, r.Rev)
		if note := r.Note.String(); note != "" {
			line += " with " + note
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// Picture returns at most most segments.
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

// Extent is the size of a list according to its head.
type Extent struct {
	Head    int // bytes; 0: no head
	Members int // when its segments were created
}

// Extents takes one trip.
func (l *Logs) Extents(ctx context.Context, s kv.Store, places []string) ([]Extent, error) {
	results, err := kv.GetAll(ctx, s, kv.Texts(places, l.Key)...)
	if err != nil {
		return nil, err
	}
	all := make([]Extent, len(places))
	for i, r := range results {
		h, err := l.decodeHead(places[i], r)
		if err != nil {
			return nil, err
		}
		all[i].Head = len(r.Value)
		for _, p := range h.parts {
			all[i].Members += p.members
		}
	}
	return all, nil
}
