package timeline

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// core is the common part of an index's rings. A place is an owner, a # and a hash of the value
// whose change moves the record.
type core struct {
	spec   spec
	owners owners
	marks  markForm
	shape  shape
	shards int
	host   plug.Host
	idText func(plug.Record) string
	keys   kv.Family
	sorted int // standings that a build keeps in memory
	*process
	ahead ahead.Memory

	met     plug.Places // owners seen by a rebuild
	built   atomic.Bool // a number was taken after the timeline was built
	unbuilt atomic.Bool // a number was taken when it may not have been
}

type spec struct {
	Name, Def string
	Value     func(plug.Record) string
	Holds, If func(plug.Record) bool
	Order     func(plug.Record) any
	Shape     Shape
	Shards    int
}

type owners interface {
	Texts(rec plug.Record) []string
	Limit(rec plug.Record) error
	Has(rec plug.Record, text string) bool
}

type everyone struct{}

func (everyone) Texts(plug.Record) []string { return []string{""} }

func (everyone) Limit(plug.Record) error { return nil }

func (everyone) Has(plug.Record, string) bool { return true }

// MaxLanes bounds the rings merged in one listing: owners times shards.
const MaxLanes = 64

var ringKey = kv.NewClass("t", 3) // model, index, owner text

const sortedAtOnce = 1 << 17

func newCore(spec spec, by owners) *core {
	c := &core{spec: spec, owners: by, shape: spec.Shape.shape(), shards: max(spec.Shards, 1), sorted: sortedAtOnce}
	if c.shards > MaxLanes {
		panic(fmt.Sprintf("timeline: %d shards; there can be %d", c.shards, MaxLanes))
	}
	return c
}

func (c *core) join(records plug.Model, index plug.Index, idText func(plug.Record) string) {
	records.Plug(index, func(host plug.Host) {
		c.host, c.idText = host, idText
		c.keys = ringKey.Family(host.Model(), c.spec.Name)
		c.process = newProcess(host.DB())
	})
}

func idTextOf[T any, K comparable](records *kvmodel.Records[T, K]) func(plug.Record) string {
	key := records.IDs()
	return plug.Untyped(func(rec *T) string { return key.Text(records.ID(rec)) })
}

func (c *core) Name() string { return c.spec.Name }

func (c *core) Def() string { return c.spec.Def + " " + c.shape.def() }

func (c *core) failure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s.%s: %w", c.host.Model(), c.spec.Name, err)
}

func (c *core) Places(rec plug.Record) []string {
	if c.spec.If != nil && !c.spec.If(rec) || !c.holds(rec) {
		return nil
	}
	places, value := c.owners.Texts(rec), ""
	if c.spec.Value != nil {
		value = digest(c.spec.Value(rec))
	}
	for i, owner := range places {
		places[i] = owner + "#" + value
	}
	return places
}

func (c *core) Limit(rec plug.Record) error {
	if c.spec.If != nil && !c.spec.If(rec) {
		return nil
	}
	return c.owners.Limit(rec)
}

func (c *core) belongs(rec *plug.Seen, in laneName) bool {
	v := rec.Value
	if v == nil || c.spec.If != nil && !c.spec.If(v) || !c.holds(v) {
		return false
	}
	return c.owners.Has(v, in.owner) && c.shardOf(rec.ID) == in.shard
}

func (c *core) holds(rec plug.Record) bool {
	switch {
	case c.spec.Holds != nil:
		return c.spec.Holds(rec)
	case c.spec.Value != nil:
		return c.spec.Value(rec) != ""
	}
	return true
}

func ownerOf(place string) string {
	owner, _, _ := strings.Cut(place, "#")
	return owner
}

func (c *core) lanesOf(owners ...string) []*lane {
	n := len(owners) * c.shards
	all, lanes := make([]*lane, n), make([]lane, n)
	for i := range all {
		lanes[i] = c.placed(owners[i/c.shards], i%c.shards)
		all[i] = &lanes[i]
	}
	return all
}

func (c *core) shard(owner string, i int) *lane {
	l := c.placed(owner, i)
	return &l
}

func (c *core) placed(owner string, i int) lane {
	base := c.keys.Key(owner)
	if c.shards > 1 {
		base += "#" + strconv.Itoa(i)
	}
	l := makeLane(c.process, base, c.shape)
	l.laneName = laneName{owner, i}
	return l
}

// A record always has the same shard, so that its entries compare.
func (c *core) lane(owner, id string) *lane { return c.shard(owner, c.shardOf(id)) }

func (c *core) shardOf(id string) int {
	if c.shards == 1 {
		return 0
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32() % uint32(c.shards))
}

func (c *core) laneOf(st standing) *lane { return c.shard(st.owner, st.shard) }

// A standing is a record's position in a lane.
type standing struct {
	laneName
	order string // sorts like the field
	at    int64  // when its entry was made
	id    string
	stamp int64 // 0: none
}

// compare orders by lane, and in each from the newest to the oldest.
func (s standing) compare(other standing) int {
	return cmp.Or(s.laneName.compare(other.laneName), cmp.Compare(other.order, s.order), cmp.Compare(other.id, s.id))
}

func (s standing) isAt(other standing) bool {
	s.stamp = other.stamp
	return s == other
}

func (c *core) standings(rec *plug.Seen) (all []standing) {
	if rec.Value == nil {
		return nil
	}
	for _, place := range rec.Places {
		all = append(all, c.standing(rec, ownerOf(place)))
	}
	return all
}

func (c *core) standingIn(rec *plug.Seen, in laneName) (st standing, ok bool) {
	if !c.belongs(rec, in) {
		return st, false
	}
	return c.standing(rec, in.owner), true
}

func (c *core) standing(rec *plug.Seen, owner string) (st standing) {
	st = standing{laneName: laneName{owner, c.shardOf(rec.ID)}, id: rec.ID}
	// the rev of a record begins with its creation time
	st.at = int64(rec.Rev)
	if m := c.marks.of(rec.Mark, owner); m.stamp != 0 {
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

// orderOf returns a text that sorts like v.
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
