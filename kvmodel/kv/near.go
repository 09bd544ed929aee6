package kv

import "context"

// Near returns s for reads that are only displayed: a store with a cache may answer a Get from
// memory. The answer may be slightly outdated, so no change may depend on it unless the store
// compares its version. Its Value may be shared and must not be changed. A store without a cache is
// returned unchanged.
func Near(s Store) Store {
	return shown(s, false)
}

// Sparse is Near for keys that are mostly absent. It may miss a value that another process stored a
// trip's time ago, so it can answer "absent" without a request.
func Sparse(s Store) Store {
	return shown(s, true)
}

func shown(s Store, sparse bool) Store {
	if !PowersOf(s).Near {
		return s
	}
	return near{s, sparse}
}

// Past undoes Near.
func Past(s Store) Store {
	if n, ok := s.(near); ok {
		return n.Store
	}
	return s
}

// Decoder decodes a value. bytes is the approximate size of the result beyond value, which the
// result may refer to. A store with a cache keeps the result and shares it with all readers of the
// key, so nobody may change it. Nothing is kept after an error. A Decoder must not use the store.
type Decoder func(value []byte) (v any, bytes int, err error)

// Of returns the decoded value of r. It must not be changed.
func (d Decoder) Of(r Result) (any, error) {
	if r.Decoded != nil {
		return r.Decoded, nil
	}
	v, _, err := d(r.Value)
	return v, err
}

type near struct {
	Store
	sparse bool
}

func (n near) Powers() Powers { return PowersOf(n.Store) }

func (n near) Do(ctx context.Context, ops []Op) error {
	for i := range ops {
		ops[i].Near = ops[i].Kind == Get
		ops[i].Sparse = n.sparse && ops[i].Near
	}
	return n.Store.Do(ctx, ops)
}

// AllNear reports whether all ops are gets answered from memory.
func AllNear(ops []Op) bool {
	for i := range ops {
		if !ops[i].Result.Near {
			return false
		}
	}
	return len(ops) > 0
}
