package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel"
)

// Counter is a number of each record that is kept beside it, since it changes
// too often to be in it. Whoever loads the record has it filled in; writing the
// record leaves it alone, and deleting the record removes it.
type Counter[K comparable] struct {
	model, name string
	ids         kvmodel.KeyOf[K]
	db          *kvmodel.DB
}

// NewCounter returns the counter of that name of records, whose schema has it
// too.
func NewCounter[T any, K comparable](records *kvmodel.Records[T, K], name string) *Counter[K] {
	return &Counter[K]{records.ModelName(), name, kvmodel.KeyOfID(records), records.DB()}
}

// Hit adds 1 and returns the sum. One trip, three the first time. After an
// ErrUnclear it may have counted or not.
func (c *Counter[K]) Hit(ctx context.Context, id K) (int64, error) { return c.Add(ctx, id, 1) }

// Add adds d, which may be negative, and returns the sum; below 0 it does not
// go. It does not look whether there is such a record.
func (c *Counter[K]) Add(ctx context.Context, id K, d int64) (int64, error) {
	n, err := kvmodel.Next(ctx, c.db.Store(), c.key(id), 0, d)
	return n, c.failure(id, err)
}

// Get returns the number, 0 if nothing was ever counted. One trip.
func (c *Counter[K]) Get(ctx context.Context, id K) (int64, error) {
	r, err := kvmodel.One(ctx, c.db.Store(), kvmodel.OpGet(c.key(id)))
	if errors.Is(err, kvmodel.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, c.failure(id, err)
	}
	n, err := kvmodel.ParseNumber(r.Value)
	return n, c.failure(id, err)
}

func (c *Counter[K]) key(id K) string { return kvmodel.CounterKey(c.model, c.name, c.ids.Text(id)) }

func (c *Counter[K]) failure(id K, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s.%s of %q: %w", c.model, c.name, c.ids.Text(id), err)
}
