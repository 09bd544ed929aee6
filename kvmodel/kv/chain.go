package kv

import (
	"context"
	"slices"
)

// Chained returns s with its writes in a chain; see Op.Chain. If chain is 0, it returns s.
func Chained(s Store, chain uint64) Store {
	if chain == 0 {
		return s
	}
	return chained{s, chain}
}

type chained struct {
	Store
	chain uint64
}

func (c chained) Powers() Powers { return PowersOf(c.Store) }

func (c chained) Do(ctx context.Context, ops []Op) error {
	for i := range ops {
		if ops[i].Kind.Writes() {
			ops[i].Chain = c.chain
		}
	}
	return c.Store.Do(ctx, ops)
}

// Chains are the broken chains of a Do. A backend that carries out the ops in order asks Skips
// before each op, and tells Note its result.
type Chains struct{ broken []uint64 }

// Skips reports whether op must not be carried out, and then sets its result.
func (c *Chains) Skips(op *Op) bool {
	if op.Chain == 0 || !slices.Contains(c.broken, op.Chain) {
		return false
	}
	op.Result = Result{Err: ErrSkipped}
	return true
}

// Note breaks the chain of op if it failed.
func (c *Chains) Note(op *Op) {
	if op.Chain != 0 && op.Result.Err != nil {
		c.broken = append(c.broken, op.Chain)
	}
}
