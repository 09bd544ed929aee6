package proof

import (
	"context"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// item is the value of a key: a model of the contract for one key, without TTLs.
type item struct {
	value   string
	version kv.Version
	present bool
}

// The next item has no version yet; nil: op changes nothing.
func (t item) after(op kv.Op) (r kv.Result, next *item) {
	refuse := func(err error) (kv.Result, *item) { return kv.Result{Err: err}, nil }
	stored := &item{value: string(op.Value), present: true}
	switch op.Kind {
	case kv.Set:
		return r, stored
	case kv.Add:
		if t.present {
			return refuse(kv.ErrExists)
		}
		return r, stored
	case kv.Append:
		switch {
		case !t.present || len(t.value)+len(op.Value) > kv.MaxValue:
			return refuse(kv.ErrNotStored)
		case len(op.Unless) > 0 && strings.HasSuffix(t.value, string(op.Unless)):
			return refuse(kv.ErrSealed)
		}
		stored.value = t.value + stored.value
		return r, stored
	}
	if !t.present {
		return refuse(kv.ErrNotFound)
	}
	switch op.Kind {
	case kv.Get:
		return kv.Result{Value: []byte(t.value), Version: t.version}, nil
	case kv.Delete:
		return r, &item{}
	case kv.Increment:
		return t.increment(op.Delta)
	}
	switch {
	case op.Version != t.version:
		return refuse(kv.ErrConflict)
	case op.Kind == kv.CompareAndDelete:
		return r, &item{}
	}
	return r, stored
}

func (t item) increment(delta int64) (kv.Result, *item) {
	n, err := kv.ParseNumber([]byte(t.value))
	if err != nil || delta > 0 && n > kv.MaxNumber-delta {
		return kv.Result{Err: kv.ErrNotNumber}, nil
	}
	n = max(n+delta, 0)
	return kv.Result{Number: n}, &item{value: strconv.FormatInt(n, 10), present: true}
}

// items is a store. The version of an item is the number of its writes, so equal states are equal
// however they were reached.
type items struct{ at map[string]item }

func (s *items) Close() error      { return nil }
func (s *items) Powers() kv.Powers { return kv.Powers{} }

func (s *items) Do(_ context.Context, ops []kv.Op) error {
	kv.Check(ops, kv.Powers{Unless: true})
	for i := range ops {
		if ops[i].Result.Err == nil {
			ops[i].Result = s.carryOut(ops[i])
		}
	}
	return kv.Unanswered(ops)
}

func (s *items) carryOut(op kv.Op) kv.Result {
	old := s.at[op.Key]
	r, next := old.after(op)
	if next != nil {
		if s.at == nil {
			s.at = map[string]item{}
		}
		next.version = old.version + 1
		s.at[op.Key] = *next
	}
	return r
}
