package timeline

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// core is the common part of an index's rings, and the index as the write path sees it. A record
// has a place for each of its owners: the owner and, after a #, a hash of the value whose change
// moves the record.
type core struct {
	spec    spec
	owners  owners
	several bool // a record may have several owners
	shape   shape
	shards  int
	host    plug.Host
	idText  func(plug.Record) string
	keys    kv.Family // of the rings
	sorted  int       // number of standings a build keeps in memory
	*process
	ahead ahead.Memory // of the newest pages

	met     ownerSet    // owners seen by a rebuild
	settled atomic.Bool // a number was taken when the timeline held all records
	unbuilt atomic.Bool // a number was taken when it may not have
}

// owners returns the owners of a record.
type owners interface {
	Texts(rec plug.Record) []string
	Limit(rec plug.Record) error
	Has(rec plug.Record, text string) bool
}

// everyone owns the records of a shared timeline.
type everyone struct{}

func (everyone) Texts(plug.Record) []string { return []string{""} }

func (everyone) Limit(plug.Record) error { return nil }

func (everyone) Has(plug.Record, string) bool { return true }

// spec is a Spec without its type.
type spec struct {
	Name, Def string
	Value     func(plug.Record) string
	Holds, If func(plug.Record) bool
	Order     func(plug.Record) any
	Shape     Shape
	Shards    int
}

// MaxLanes is the maximum number of rings merged in one listing: owners times shards.
const MaxLanes = 64

var ringKey = kv.NewClass("t", 3) // model, index, owner text

// ownerOf returns the owner in place.
func ownerOf(place string) string {
	owner, _, _ := strings.Cut(place, "#")
	return owner
}

// failure adds the name of the timeline to err. It returns nil for nil.
func (c *core) failure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s.%s: %w", c.host.Model(), c.spec.Name, err)
}

type ownerSet struct {
	mu  sync.Mutex
	all map[string]bool
}

func (c *core) shardOf(id string) int {
	if c.shards == 1 {
		return 0
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32() % uint32(c.shards))
}

// take returns the owners and clears the set.
func (o *ownerSet) take() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := slices.Collect(maps.Keys(o.all))
	o.all = nil
	return all
}
