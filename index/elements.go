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
			e.numbers.Known(first + int64(i))
		}
	}
	for i, r := range results {
		// There are no gaps, so one below a number that is there was lost.
		if n := first + int64(i); r.Err != nil && n <= e.numbers.LastKnown() {
			return nil, fmt.Errorf("%w: number %d is missing, and a later one was there", kv.ErrLost, n)
		}
	}
	return values, nil
}

// decode returns what is stored as value: nil for what is accepted to be lost.
func (e *elements[T]) decode(value []byte) (*T, error) {
	if len(value) == 0 {
		return nil, nil
	}
	if len(value) < nonceBytes {
		return nil, fmt.Errorf("%w: a value of %d bytes", kvmodel.ErrCorrupt, len(value))
	}
	v := new(T)
	_, err := e.codec.Unmarshal(value[nonceBytes:], v)
	return v, err
}

// accept puts nothing in the place of what is lost.
func (e *elements[T]) accept(ctx context.Context) error {
	_, err := kv.One(ctx, e.db.Store(), kv.OpDelete(e.numbers.Hint))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	last, err := e.numbers.Last(ctx, e.db.Store())
	for first := int64(1); err == nil && first <= last; first += loadAtOnce {
		err = e.fill(ctx, first, min(last, first+loadAtOnce-1))
	}
	return err
}

// fill stores nothing under the numbers from first to last that are lost.
func (e *elements[T]) fill(ctx context.Context, first, last int64) error {
	var ops []kv.Op
	for n := first; n <= last; n++ {
		ops = append(ops, kv.OpAdd(e.numbers.Key(n), nil))
	}
	_ = e.db.Store().Do(ctx, ops) // The result of each op says whether it succeeded.
	for i := range ops {
		if err := ops[i].Err(); err != nil && !errors.Is(err, kv.ErrExists) {
			return err
		}
	}
	return nil
}
