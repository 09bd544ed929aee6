package boltkv

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func run(ops []kv.Op, in *live) {
	var chains kv.Chains
	for i := range ops {
		op := &ops[i]
		if op.Result.Err == nil && !chains.Skips(op) {
			op.Result = apply(op, in)
		}
		chains.Note(op)
	}
}

func apply(op *kv.Op, in *live) kv.Result {
	it, ok := in.get(op.Key)
	switch {
	case op.Kind == kv.Get:
		return read(it, ok, op.Near)
	case it.damaged != nil && (op.Kind == kv.Increment || op.Kind == kv.Append):
		return kv.Result{Err: it.damaged}
	case op.Kind == kv.Increment:
		return increment(op, it, ok, in)
	case op.Kind == kv.Append:
		return kv.Result{Err: extend(op, it, ok, in)}
	}
	if err := mayChange(op, it, ok); err != nil {
		return kv.Result{Err: err}
	}
	if op.Kind == kv.Delete || op.Kind == kv.CompareAndDelete {
		in.drop(op.Key)
	} else {
		in.put(op.Key, item{value: op.Value, expires: expiry(op, in)})
	}
	return kv.Result{}
}

func read(it item, ok, shared bool) kv.Result {
	if !ok {
		return kv.Result{Err: kv.ErrNotFound}
	}
	if it.damaged != nil {
		return kv.Result{Err: it.damaged, Version: it.version}
	}
	return kv.Result{Value: it.take(shared), Version: it.version}
}

func mayChange(op *kv.Op, it item, ok bool) error {
	compares := op.Kind == kv.CompareAndSwap || op.Kind == kv.CompareAndDelete
	switch {
	case op.Kind == kv.Set:
		return nil
	case op.Kind == kv.Add && ok:
		return kv.ErrExists
	case op.Kind != kv.Add && !ok:
		return kv.ErrNotFound
	case compares && it.version != op.Version:
		return kv.ErrConflict
	}
	return nil
}

func expiry(op *kv.Op, in *live) int64 {
	if op.TTL == 0 {
		return 0
	}
	return in.now() + int64(op.TTL)
}

func extend(op *kv.Op, it item, ok bool, in *live) error {
	if !ok || len(it.value)+len(op.Value) > kv.MaxValue {
		return kv.ErrNotStored
	}
	if len(op.Unless) > 0 && bytes.HasSuffix(it.value, op.Unless) {
		return kv.ErrSealed
	}
	in.put(op.Key, it, op.Value...)
	return nil
}

func increment(op *kv.Op, it item, ok bool, in *live) kv.Result {
	if !ok {
		return kv.Result{Err: kv.ErrNotFound}
	}
	n, err := kv.ParseNumber(it.value)
	if err != nil {
		return kv.Result{Err: err}
	}
	if op.Delta > kv.MaxNumber-n {
		return kv.Result{Err: fmt.Errorf("%w: %d%+d is past the largest", kv.ErrNotNumber, n, op.Delta)}
	}
	n = max(n+op.Delta, 0)
	in.put(op.Key, item{value: strconv.AppendInt(nil, n, 10), expires: it.expires})
	return kv.Result{Number: n}
}
