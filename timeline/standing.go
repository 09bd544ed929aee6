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

// A standing is where a record belongs when a timeline is built.
type standing struct {
	owner string
	shard int
	order string // a text that sorts as the field does
	at    int64  // when its entry counts as made, in Unix milliseconds
	id    string
}

// compare orders standings by lane, and from the newest to the oldest in each.
func (s standing) compare(other standing) int {
	return cmp.Or(
		cmp.Compare(s.owner, other.owner), cmp.Compare(s.shard, other.shard),
		cmp.Compare(other.order, s.order), cmp.Compare(other.id, s.id),
	)
}

func (s standing) inLaneOf(other standing) bool {
	return s.owner == other.owner && s.shard == other.shard
}

// standing returns where rec belongs. ok reports that the timeline holds it.
func (c *core[T]) standing(rec *plug.Seen[T]) (st standing, ok bool) {
	if rec.Value == nil || len(rec.Places) == 0 {
		return st, false
	}
	st = standing{owner: ownerOf(rec.Places[0]), shard: c.shardOf(rec.ID), id: rec.ID}
	// The rev of a record begins with the time when it was made. What has an entry
	// stays at the time of that.
	st.at = int64(rec.Rev)
	if m := decodeMark(rec.Mark); m.stamp != 0 {
		st.at = m.at
	}
	if c.spec.Order == nil {
		st.order = sortable(uint64(st.at))
		return st, true
	}
	field := c.spec.Order(rec.Value)
	if t, ok := field.(time.Time); ok {
		st.at = t.UnixMilli()
	}
	st.order = orderOf(field)
	return st, true
}

// orderOf returns a text for v, a time, an integer or a string, that sorts as v does.
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

// sortedAtOnce is how many standings are in memory at a time; twice as many while
// they are chosen.
const sortedAtOnce = 1 << 17

// standingsAfter returns the next standings after last, or the first if it is nil, in
// their order. It reads all records. It returns none at the end.
func (c *core[T]) standingsAfter(ctx context.Context, last *standing) (some []standing, err error) {
	err = c.host.Each(ctx, func(recs []*plug.Seen[T]) error {
		for _, rec := range recs {
			if st, ok := c.standing(rec); ok && (last == nil || last.compare(st) < 0) {
				some = append(some, st)
			}
		}
		if len(some) >= 2*c.sorted {
			some = c.foremost(some)
		}
		return nil
	})
	return c.foremost(some), err
}

// foremost returns the first of some in their order, as many as are kept.
func (c *core[T]) foremost(some []standing) []standing {
	slices.SortFunc(some, standing.compare)
	return some[:min(len(some), c.sorted)]
}
