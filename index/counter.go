package index

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/kvmodel"
)

type number[K comparable] struct {
	db     plug.DB
	name   string
	ids    kvmodel.KeyOf[K]
	counts tally.Counter
}

// Get returns the number, 0 if nothing was counted. One trip.
func (n *number[K]) Get(ctx context.Context, id K) (int64, error) {
	ctx, end := n.db.Begin(ctx, "Get")
	defer end()
	counts, err := n.counts.Counts(ctx, n.db.Store(), []string{n.ids.Text(id)})
	if err != nil {
		return 0, n.failure(id, err)
	}
	if counts[0] == tally.None {
		return 0, nil
	}
	return counts[0], nil
}

func (n *number[K]) failure(id K, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s of %q: %w", n.name, n.ids.Text(id), err)
}

// Counter is a number for each record, stored separately because it changes too often. Loading the
// record fills it in, writing the record leaves it alone, and deleting the record removes it.
// Boards that rank by it follow.
type Counter[K comparable] struct {
	number[K]
	tally *tally.Tally
}

// NewCounter returns the counter of this name in the schema of records.
func NewCounter[T any, K comparable](records *kvmodel.Records[T, K], name string) *Counter[K] {
	db := records.DB()
	tally := db.Tally(records.ModelName(), name)
	return &Counter[K]{number[K]{db.Named(records.ModelName(), name), records.ModelName() + "." + name, records.IDs(), tally}, tally}
}

// Hit adds 1 and returns the sum. One trip, two the first time, plus the trips of boards that
// follow before the reply. After an ErrUnclear the hit may have counted.
//
// Hit does not check that the record exists, which would take a second trip. For a missing record
// it leaves a counter, from which a record created later with this id starts. So call Hit after a
// Get that has found the record.
func (c *Counter[K]) Hit(ctx context.Context, id K) (int64, error) {
	ctx, end := c.db.Begin(ctx, "Hit")
	defer end()
	return c.Add(ctx, id, 1)
}

// Add adds d, which may be negative, and returns the sum, at least 0. It does not check that the
// record exists.
func (c *Counter[K]) Add(ctx context.Context, id K, d int64) (int64, error) {
	ctx, end := c.db.Begin(ctx, "Add")
	defer end()
	n, err := c.tally.Add(ctx, c.ids.Text(id), d)
	return n, c.failure(id, err)
}

// Set sets the number to n, even if it is damaged. Concurrent hits are lost, and counts per period
// do not change. Two trips, plus the trips of boards that follow before the reply.
func (c *Counter[K]) Set(ctx context.Context, id K, n int64) error {
	ctx, end := c.db.Begin(ctx, "Set")
	defer end()
	return c.failure(id, c.tally.Set(ctx, c.ids.Text(id), n))
}

// DerivedCount is the number of members in a list of other records, kept for the record whose id is
// the list's value. Loading the record fills it in. There may be a number without a record. Boards
// that rank by it follow.
type DerivedCount[K comparable] struct{ number[K] }

// NewDerivedCount returns the derived count of this name in the schema of records.
func NewDerivedCount[T any, K comparable](records *kvmodel.Records[T, K], name string) *DerivedCount[K] {
	db := records.DB()
	derived := db.Derived(records.ModelName(), name)
	return &DerivedCount[K]{number[K]{db.Named(records.ModelName(), name), derived.Name(), records.IDs(), derived}}
}
