package kvtest

import (
	"bytes"
	"context"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type shown struct {
	t testing.TB
	kv.Store
}

func (s shown) Powers() kv.Powers { return kv.PowersOf(s.Store) }

func (s shown) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if op := &ops[i]; op.Kind == kv.Get {
			op.Near, op.Decode = true, func(value []byte) (any, int, error) { return bytes.Clone(value), len(value), nil }
		}
	}
	err := s.Store.Do(ctx, ops)
	for i := range ops {
		r := &ops[i].Result
		if decoded, ok := r.Decoded.([]byte); ok && (r.Err != nil || !bytes.Equal(decoded, r.Value)) {
			s.t.Errorf("a get of %s answered %q, %v, which is not %q", ops[i].Key, r.Value, r.Err, decoded)
		}
		if r.Value != nil {
			r.Value = append([]byte{}, r.Value...) // A caller may change it, and others may share it.
		}
	}
	return err
}
