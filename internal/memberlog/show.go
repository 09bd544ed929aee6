package memberlog

import (
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
)

// shownAtMost is the number of records of a segment that Show lists.
const shownAtMost = 100

// Members returns the ids that value, a head or a segment, names, in or out, as far as it can be
// read.
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

// Show says what value, a head or a segment, which stands under key, holds.
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
