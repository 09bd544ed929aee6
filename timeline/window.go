package timeline

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// All rings of an owner share a base.
type ringWindow struct{ *core }

func (c *core) Window() plug.Window { return ringWindow{c} }

func (c ringWindow) Kind() string { return "timeline" }

func (c ringWindow) Parted() bool {
	_, one := c.owners.(everyone)
	return !one
}

func (c ringWindow) Bases(place string) []string {
	return []string{c.keys.Key(ownerOf(place))}
}

// Base finds the rings of an owner by the counter of the first.
func (c ringWindow) Base(key string) (base string, first bool) {
	base, rest, ok := plug.BaseAt(key, c.keys.Key(""))
	return base, ok && (rest == "n" || rest == "0#n")
}

func (c ringWindow) lanesAt(base string) (all []*lane) {
	if c.shards == 1 {
		return []*lane{newLane(c.process, base, c.shape)}
	}
	for i := range c.shards {
		all = append(all, newLane(c.process, fmt.Sprintf("%s#%d", base, i), c.shape))
	}
	return all
}

// Stale entries are normal.
func (c ringWindow) Audit(ctx context.Context, s kv.Store, base, _ string) (wrong []plug.Wrong, err error) {
	for _, l := range c.lanesAt(base) {
		damaged, err := l.damaged(ctx, s)
		if err != nil {
			return wrong, c.failure(err)
		}
		for _, key := range damaged {
			wrong = append(wrong, plug.Wrong{Kind: plug.DamagedItem, Text: key + " cannot be read"})
		}
	}
	return wrong, nil
}

func (l *lane) damaged(ctx context.Context, s kv.Store) (damaged []string, err error) {
	count, _, err := l.readCounter(ctx, s)
	if count == poisoned {
		damaged = append(damaged, l.counterKey())
	}
	if err != nil {
		return nil, err
	}
	err = l.each(ctx, s, 0, l.shape.blocks, func(_ int64, key string, r kv.Result) error {
		if r.Err == nil && isDamaged(decodeEntries(r.Value)) {
			damaged = append(damaged, key)
		}
		return nil
	})
	return damaged, err
}

// Amend removes unreadable bytes. The caller mends their records later.
func (c ringWindow) Amend(ctx context.Context, s kv.Store, base, _ string) error {
	for _, l := range c.lanesAt(base) {
		if err := cmp.Or(l.dropDamaged(ctx, s), l.dropBadCounter(ctx, s)); err != nil {
			return c.failure(err)
		}
	}
	return nil
}

// dropBadCounter deletes an unusable counter. The next writer recreates it: see RECOVER.
func (l *lane) dropBadCounter(ctx context.Context, s kv.Store) error {
	count, version, err := l.readCounter(ctx, s)
	if err != nil || count != poisoned {
		return err
	}
	_, err = kv.One(ctx, s, kv.OpDrop(l.counterKey(), version))
	return unlessRaced(err)
}

func (c ringWindow) Page(ctx context.Context, s kv.Store, value string, n int) (rows []plug.Row, err error) {
	p, err := c.ring(value).page(ctx, position{}, n, nil)
	if err != nil {
		return nil, err
	}
	ids := kv.Texts(p.items, c.idText)
	recs, err := c.host.SeeMarks(ctx, s, ids...)
	if recs == nil {
		return nil, err
	}
	for _, rec := range recs {
		m := c.marks.of(rec.Mark, value)
		rows = append(rows, plug.Row{ID: rec.ID, Note: fmt.Sprintf("stamp %d, %s", m.stamp, shownTime(m.at))})
	}
	return rows, p.damage
}

func (c ringWindow) Picture(ctx context.Context, s kv.Store, value string, most int) (plug.Picture, error) {
	r := c.ring(value)
	if err := r.ready(ctx); err != nil {
		return plug.Picture{}, err
	}
	segments := 0
	for _, l := range r.lanes {
		segments += int(l.shape.blocks)
	}
	if segments > most {
		return plug.Picture{Words: fmt.Sprintf("No picture: it has %d segments.", segments)}, nil
	}
	all, skipped, err := r.pictures(ctx, s, most-segments)
	if err != nil {
		return plug.Picture{}, err
	}
	var p plug.Picture
	for _, ring := range all {
		p.Rings = append(p.Rings, ring.plain())
	}
	if skipped {
		p.Words = "Only the newest entries were compared with their records; others are gray."
	}
	return p, nil
}

func (p Picture) plain() plug.Ring {
	ring := plug.Ring{Head: p.Head, Newest: p.Newest}
	for _, s := range p.Segments {
		slots := make([]uint8, len(s.Slots))
		for i, slot := range s.Slots {
			slots[i] = uint8(slot)
		}
		ring.Segments = append(ring.Segments, plug.Segment{Name: s.Key[strings.LastIndexByte(s.Key, '#')+1:], Slots: slots})
	}
	return ring
}

func shownTime(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.DateTime) }

func (c ringWindow) Show(key string, value []byte) ([]string, error) {
	if strings.HasSuffix(key, "#n") {
		return []string{"the last stamp that was given: " + string(value)}, nil
	}
	return showEntries(key, value, func(e entry) string { return string(e.body) })
}

func (c ringWindow) Said(key string, value []byte) (texts []string, bodies [][]byte) {
	for _, body := range bodiesOf(key, value) {
		texts = append(texts, string(body))
	}
	return texts, nil
}

func bodiesOf(key string, value []byte) (bodies [][]byte) {
	if strings.HasSuffix(key, "#n") {
		return nil
	}
	for _, e := range decodeEntries(value) {
		bodies = append(bodies, e.body)
	}
	return bodies
}

const shownAtMost = 100

func showEntries(key string, value []byte, body func(entry) string) ([]string, error) {
	entries := decodeEntries(value)
	lines := []string{fmt.Sprintf("%d entries", len(entries))}
	for i, e := range entries {
		if i == shownAtMost {
			lines = append(lines, fmt.Sprintf("and %d more", len(entries)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("stamp %d, %s, %s", e.stamp, shownTime(e.at), body(e)))
	}
	if isDamaged(entries) {
		return lines, damageOf([]string{key})
	}
	return lines, nil
}
