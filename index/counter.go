package index

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Counter is a number of each record that is kept beside the record, since it
// changes too often to be in it. Loading the record fills it in, writing the
// record leaves it alone, and deleting the record removes it. Boards that rank by
// it follow.
type Counter[K comparable] struct {
	model, name string
	ids         kvmodel.KeyOf[K]
	tally       *kvmodel.Tally
	store       kv.Store
}

// NewCounter returns the counter that the schema of records has under this name.
func NewCounter[T any, K comparable](records *kvmodel.Records[T, K], name string) *Counter[K] {
	model, db := records.ModelName(), records.DB()
	return &Counter[K]{model, name, records.IDs(), db.Tally(model, name), db.Store()}
}

// Hit adds 1 and returns the sum. One trip, three the first time, plus those of
// boards that follow before the reply. After an ErrUnclear it may or may not have
// counted.
func (c *Counter[K]) Hit(ctx context.Context, id K) (int64, error) { return c.Add(ctx, id, 1) }

// Add adds d, which may be negative, and returns the sum, which is at least 0. It
// does not check that there is such a record.
func (c *Counter[K]) Add(ctx context.Context, id K, d int64) (int64, error) {
	n, err := c.tally.Add(ctx, c.ids.Text(id), d)
	return n, c.failure(id, err)
}

// Get returns the number, 0 if nothing was counted yet. One trip.
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
