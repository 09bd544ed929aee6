package timeline

import (
	"cmp"
	"context"
	"encoding/binary"
	"reflect"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
)

// A standing is a record's position in a build.
type standing struct {
	laneName
	order string // a text that sorts like the field
	at    int64  // assumed creation time of its entry, in Unix milliseconds
	id    string
	stamp int64 // of the record; 0: none
}

// A laneName identifies a lane of a timeline.
type laneName struct {
	owner string
	shard int
}

func (n laneName) compare(other laneName) int {
	return cmp.Or(cmp.Compare(n.owner, other.owner), cmp.Compare(n.shard, other.shard))
}

// compare orders standings by lane, and from the newest to the oldest in each.
func (s standing) compare(other standing) int {
	return cmp.Or(s.laneName.compare(other.laneName), cmp.Compare(other.order, s.order), cmp.Compare(other.id, s.id))
}

// isAt reports whether s and other are equal, ignoring their stamps.
func (s standing) isAt(other standing) bool {
	s.stamp = other.stamp
	return s == other
}

// standings returns the standings of rec.
func (c *core) standings(rec *plug.Seen) (all []standing) {
	if rec.Value == nil {
		return nil
	}
	for _, place := range rec.Places {
		all = append(all, c.standing(rec, ownerOf(place)))
	}
	return all
}

// standingIn returns the standing of rec in a lane. ok reports whether rec belongs there.
func (c *core) standingIn(rec *plug.Seen, in laneName) (st standing, ok bool) {
	for _, st := range c.standings(rec) {
		if st.laneName == in {
			return st, true
		}
	}
	return st, false
}

// standing returns the standing of rec in the ring of one of its owners.
func (c *core) standing(rec *plug.Seen, owner string) (st standing) {
	st = standing{laneName: laneName{owner, c.shardOf(rec.ID)}, id: rec.ID}
	// The rev of a record begins with its creation time. A record with an entry keeps the time of
	// that.
	st.at = int64(rec.Rev)
	if m := c.markOf(rec.Mark, owner); m.stamp != 0 {
		st.stamp, st.at = m.stamp, m.at
	}
	if c.spec.Order == nil {
		st.order = sortable(uint64(st.at))
		return st
	}
	field := c.spec.Order(rec.Value)
	if t, ok := field.(time.Time); ok {
		st.at = t.UnixMilli()
	}
	st.order = orderOf(field)
	return st
}

// orderOf returns a text for v, a time, an integer or a string, that sorts like v.
func orderOf(v any) string {
	if t, ok := v.(time.Time); ok {
		return sortable(uint64(t.Unix())^1<<63) + sortable(uint64(t.Nanosecond()))
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return sortable(uint64(r.Int()) ^ 1<<63)
	case r.CanUint():
		return sortable(r.Uint())
	}
	return Text(v)
}

func sortable(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

// sortedAtOnce is the number of standings kept in memory; twice as many while they are chosen.
const sortedAtOnce = 1 << 17

// foremost returns the standings that wants selects, in their order, or as many of the first as fit
// in memory.
func (c *core) foremost(ctx context.Context, wants func(standing) bool) (some []standing, err error) {
	cut := func() {
		slices.SortFunc(some, standing.compare)
		some = some[:min(len(some), c.sorted)]
	}
	err = c.host.Each(ctx, func(recs []*plug.Seen) error {
		for _, rec := range recs {
			for _, st := range c.standings(rec) {
				if wants(st) {
					some = append(some, st)
				}
			}
		}
		if len(some) >= 2*c.sorted {
			cut()
		}
		return nil
	})
	cut()
	return some, err
}
