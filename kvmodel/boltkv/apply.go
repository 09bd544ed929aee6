package boltkv

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/ringtree/ringtree/kvmodel"
)

// space is what ops run on: the items in the file, or an atomic change's view
// of them. The value of an item it returns is only read, and only at once.
type space interface {
	get(key string) (it item, ok bool) // not ok if absent or expired
	put(key string, it item)           // gives it a new version
	drop(key string)
	now() int64
}

func run(ops []kvmodel.Op, in space) {
	for i := range ops {
		if op := &ops[i]; op.Result.Err == nil {
			op.Result = apply(op, in)
		}
	}
}

func apply(op *kvmodel.Op, in space) kvmodel.Result {
	it, ok := in.get(op.Key)
	switch op.Kind {
	case kvmodel.Get:
		return read(it, ok)
	case kvmodel.Increment:
		return increment(op, it, ok, in)
	case kvmodel.Append:
		return kvmodel.Result{Err: extend(op, it, ok, in)}
	}
	if err := mayChange(op, it, ok); err != nil {
		return kvmodel.Result{Err: err}
	}
	if op.Kind == kvmodel.Delete || op.Kind == kvmodel.CompareAndDelete {
		in.drop(op.Key)
	} else {
		in.put(op.Key, item{value: op.Value, expires: expiry(op, in)})
	}
	return kvmodel.Result{}
}

func read(it item, ok bool) kvmodel.Result {
	if !ok {
		return kvmodel.Result{Err: kvmodel.ErrNotFound}
	}
	return kvmodel.Result{Value: append([]byte{}, it.value...), Version: it.version}
}

// mayChange returns why op must not replace or remove it, or nil.
func mayChange(op *kvmodel.Op, it item, ok bool) error {
	compares := op.Kind == kvmodel.CompareAndSwap || op.Kind == kvmodel.CompareAndDelete
	switch {
	case op.Kind == kvmodel.Set:
		return nil
	case op.Kind == kvmodel.Add && ok:
		return kvmodel.ErrExists
	case op.Kind != kvmodel.Add && !ok:
		return kvmodel.ErrNotFound
	case compares && it.version != op.Version:
		return kvmodel.ErrConflict
	}
	return nil
}

func expiry(op *kvmodel.Op, in space) int64 {
	if op.TTL == 0 {
		return 0
	}
	return in.now() + int64(op.TTL)
}

func extend(op *kvmodel.Op, it item, ok bool, in space) error {
	if !ok || len(it.value)+len(op.Value) > kvmodel.MaxValue {
		return kvmodel.ErrNotStored
	}
	if len(op.Unless) > 0 && bytes.HasSuffix(it.value, op.Unless) {
		return kvmodel.ErrSealed
	}
	in.put(op.Key, item{value: slices.Concat(it.value, op.Value), expires: it.expires})
	return nil
}

func increment(op *kvmodel.Op, it item, ok bool, in space) kvmodel.Result {
	if !ok {
		return kvmodel.Result{Err: kvmodel.ErrNotFound}
	}
	n, err := kvmodel.ParseNumber(it.value)
	if err != nil {
		return kvmodel.Result{Err: err}
	}
	if op.Delta > kvmodel.MaxNumber-n {
		return kvmodel.Result{Err: fmt.Errorf("%w: %d and %d more", kvmodel.ErrNotNumber, n, op.Delta)}
	}
	n = max(n+op.Delta, 0)
	in.put(op.Key, item{value: strconv.AppendInt(nil, n, 10), expires: it.expires})
	return kvmodel.Result{Number: n}
}
