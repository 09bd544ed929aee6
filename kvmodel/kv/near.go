package kv

import "context"

// Near returns s for reading what is shown and nothing else: a Get on it may be answered
// from memory, by a store that keeps what it has read (see package nearkv). It may show
// what was current a moment ago, so no change may rest on it unless the store compares its
// version, and its Value must not be changed, since others may get the same. A store that
// keeps nothing is returned as it is.
func Near(s Store) Store {
	return shown(s, false)
}

// Sparse is Near for reading what is mostly absent: what another process has stored under a key
// a flight ago may be missing yet, so that nothing has to be asked to know that nothing is there.
func Sparse(s Store) Store {
	return shown(s, true)
}

func shown(s Store, sparse bool) Store {
	if !PowersOf(s).Near {
		return s
	}
	return near{s, sparse}
}

// Past returns s without Near.
func Past(s Store) Store {
	if n, ok := s.(near); ok {
		return n.Store
	}
	return s
}

// Decoder decodes a value, and returns about how many bytes the result takes besides the
// value, of which it may keep parts. A store with a cache keeps the result there, shared by
// all readers of the key: nobody may change it. After an error nothing is kept. A Decoder
// must not use the store.
type Decoder func(value []byte) (v any, bytes int, err error)

// Of returns the decoded value of r, which nobody may change.
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

// AllNear reports whether ops are gets that were all answered from memory.
func AllNear(ops []Op) bool {
	for i := range ops {
		if !ops[i].Result.Near {
			return false
		}
	}
	return len(ops) > 0
}
