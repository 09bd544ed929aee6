package index

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Counter is a number of each record that is kept beside it, since it changes
// too often to be in it. Whoever loads the record has it filled in; writing the
// record leaves it alone, and deleting the record removes it. Boards that go by
// it follow.
type Counter[K comparable] struct {
	model, name string
	ids         kvmodel.KeyOf[K]
	tally       *kvmodel.Tally
	store       kv.Store
}

// NewCounter returns the counter of that name of records, whose schema has it
// too.
func NewCounter[T any, K comparable](records *kvmodel.Records[T, K], name string) *Counter[K] {
	model, db := records.ModelName(), records.DB()
	return &Counter[K]{model, name, records.IDs(), db.Tally(model, name), db.Store()}
}

// Hit adds 1 and returns the sum. One trip, three the first time, and what boards
// take that follow before the reply. After an ErrUnclear it may have counted or
// not.
func (c *Counter[K]) Hit(ctx context.Context, id K) (int64, error) { return c.Add(ctx, id, 1) }

// Add adds d, which may be negative, and returns the sum; below 0 it does not
// go. It does not look whether there is such a record.
func (c *Counter[K]) Add(ctx context.Context, id K, d int64) (int64, error) {
	n, err := c.tally.Add(ctx, c.ids.Text(id), d)
	return n, c.failure(id, err)
}

// Get returns the number, 0 if nothing was ever counted. One trip.
func (c *Counter[K]) Get(ctx context.Context, id K) (int64, error) {
	counts, err := c.tally.Counts(ctx, c.store, []string{c.ids.Text(id)})
	if err != nil {
		return 0, c.failure(id, err)
	}
	return max(0, counts[0]), nil
}

func (c *Counter[K]) failure(id K, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s.%s of %q: %w", c.model, c.name, c.ids.Text(id), err)
}
