package index

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/ringtree/ringtree/internal/numbering"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var (
	elementKey  = kv.NewClass("q", 2)  // name, number
	elementHint = kv.NewClass("qh", 1) // name
)

// elements are the values of a sequence that are not records. Each is stored with
// a random number by which its adder recognizes it.
type elements[T any] struct {
	db      *kvmodel.DB
	name    string
	codec   kvmodel.Codec[T]
	numbers *numbering.Row
	turn    chan struct{} // holds a token while a goroutine of this process adds
}

const nonceBytes = 8

func newElements[T any](db *kvmodel.DB, name string, codec kvmodel.Codec[T]) *elements[T] {
	e := &elements[T]{db: db, name: name, codec: codec, turn: make(chan struct{}, 1)}
	e.numbers = &numbering.Row{
		Key:  func(n int64) string { return elementKey.Key(name, strconv.FormatInt(n, 10)) },
		Hint: elementHint.Key(name),
	}
	return e
}

func (e *elements[T]) add(ctx context.Context, v *T) (int64, error) {
	ctx, cancel := e.db.Patient(ctx)
	defer cancel()
	value, err := e.codec.Append(kv.RandomBytes(nonceBytes), v)
	if err != nil {
		return 0, err
	}
	// Of the adders of a process that try at once, only one would succeed.
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return 0, kv.Unavailable(kv.Ended(ctx))
	}
	n, err := e.numbers.Add(ctx, e.db.Store(), value)
	if err != nil {
		return 0, err
	}
	e.numbers.Known(n)
	return n, nil
}

func (e *elements[T]) load(ctx context.Context, first, last int64) ([]*T, error) {
	var keys []string
	for n := first; n <= last; n++ {
		keys = append(keys, e.numbers.Key(n))
	}
	results, err := kv.GetAll(ctx, e.db.Store(), keys...)
	if err != nil {
		return nil, err
	}
	values := make([]*T, len(results))
	for i, r := range results {
		if r.Err == nil {
			if values[i], err = e.decode(r.Value); err != nil {
				return nil, fmt.Errorf("%s: %w", keys[i], err)
			}
		}
	}
	return values, nil
}

func (e *elements[T]) decode(value []byte) (*T, error) {
	if len(value) < nonceBytes {
		return nil, fmt.Errorf("%w: a value of %d bytes", kvmodel.ErrCorrupt, len(value))
	}
	v := new(T)
	_, err := e.codec.Unmarshal(value[nonceBytes:], v)
	return v, err
}

func (e *elements[T]) accept(ctx context.Context) error {
	_, err := kv.One(ctx, e.db.Store(), kv.OpDelete(e.numbers.Hint))
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}
