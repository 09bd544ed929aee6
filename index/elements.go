package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/ringtree/ringtree/internal/numbering"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var (
	elementKey  = kv.NewClass("q", 2)  // name, number
	elementHint = kv.NewClass("qh", 1) // name
)

// elements are the values of a sequence that are not records. Each is stored behind a
// stamp: what all stamps begin with, a random number by which its adder recognizes the
// value, and a sum of that number and the value.
type elements[T any] struct {
	db      plug.DB
	name    string
	codec   kvmodel.Codec[T]
	numbers *numbering.Row
	turn    chan struct{} // holds a token while a goroutine of this process adds
}

const (
	stamped    = "\xa7\x3c\x91"
	randomEnd  = len(stamped) + 3
	stampBytes = randomEnd + 2
)

// sumOf returns the sum of a value behind its stamp.
func sumOf(value []byte) uint16 {
	sum := wire.Sum(value[len(stamped):randomEnd], value[stampBytes:])
	return uint16(sum) ^ uint16(sum>>16)
}

// isWhole reports whether value is as it was stored.
func isWhole(value []byte) bool {
	return len(value) >= stampBytes && string(value[:len(stamped)]) == stamped && binary.BigEndian.Uint16(value[randomEnd:]) == sumOf(value)
}

func newElements[T any](db plug.DB, name string, codec kvmodel.Codec[T]) *elements[T] {
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
	value := append(append([]byte(stamped), kv.RandomBytes(randomEnd-len(stamped))...), 0, 0)
	value, err := e.codec.Append(value, v)
	if err != nil {
		return 0, err
	}
	binary.BigEndian.PutUint16(value[randomEnd:], sumOf(value))
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

// keys returns the keys of the values with numbers from first to last.
func (e *elements[T]) keys(first, last int64) (keys []string) {
	for n := first; n <= last; n++ {
		keys = append(keys, e.numbers.Key(n))
	}
	return keys
}

// load returns the values with numbers from first to last. What is damaged is left out,
// with an ErrCorrupt.
func (e *elements[T]) load(ctx context.Context, first, last int64) ([]*T, error) {
	keys := e.keys(first, last)
	results, err := kv.GetAll(ctx, e.db.Store(), keys...)
	if err != nil {
		return nil, err
	}
	values := make([]*T, len(results))
	var damaged []error
	for i, r := range results {
		if r.Err == nil {
			if values[i], err = e.decode(r.Value); err != nil {
				damaged = append(damaged, wire.Corrupt(keys[i], err))
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
	return values, kv.Join(damaged...)
}

// decode returns what is stored as value: nil for what is accepted to be lost.
func (e *elements[T]) decode(value []byte) (*T, error) {
	if len(value) == 0 {
		return nil, nil
	}
	if !isWhole(value) {
		return nil, fmt.Errorf("%w: a value of %d bytes", kvmodel.ErrCorrupt, len(value))
	}
	v := new(T)
	if _, err := e.codec.Unmarshal(value[stampBytes:], v); err != nil {
		return nil, err
	}
	return v, nil
}

// accept puts nothing in the place of what is lost or damaged.
func (e *elements[T]) accept(ctx context.Context) error {
	last, err := e.numbers.Accept(ctx, e.db.Store(), nil)
	for first := int64(1); err == nil && first <= last; first += loadAtOnce {
		err = e.fill(ctx, first, min(last, first+loadAtOnce-1))
	}
	return err
}

// fill stores nothing under the numbers from first to last that are lost or damaged.
func (e *elements[T]) fill(ctx context.Context, first, last int64) error {
	keys := e.keys(first, last)
	results, err := kv.GetAll(ctx, e.db.Store(), keys...)
	if err != nil {
		return err
	}
	var ops []kv.Op
	for i, r := range results {
		if r.Err != nil {
			ops = append(ops, kv.OpAdd(keys[i], nil))
		} else if _, err := e.decode(r.Value); err != nil {
			ops = append(ops, kv.OpSwap(keys[i], r.Version, nil))
		}
	}
	_ = e.db.Store().Do(ctx, ops) // The result of each op says whether it succeeded.
	for i := range ops {
		if err := ops[i].Err(); err != nil && !errors.Is(err, kv.ErrExists) {
			return err
		}
	}
	return nil
}
