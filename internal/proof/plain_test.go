package proof_test

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func withoutPowers(s kv.Store) kv.Store { return plain{s} }

type plain struct{ kv.Store }

func (p plain) Powers() kv.Powers { return kv.Powers{} }

func (p plain) Do(ctx context.Context, ops []kv.Op) error {
	kv.Check(ops, p.Powers())
	var good []kv.Op
	for _, op := range ops {
		if op.Result.Err == nil {
			good = append(good, op)
		}
	}
	err := p.Store.Do(ctx, good)
	for i := range ops {
		if ops[i].Result.Err == nil {
			ops[i].Result, good = good[0].Result, good[1:]
		}
	}
	return err
}
