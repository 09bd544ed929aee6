package kv

import (
	"context"
)

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

// Memory answers gets with Near immediately.
type Memory interface {
	// Recall fills results with answers to gets as of one moment. It returns false if one of them
	// needs the store. It retains nothing of gets, not even a key.
	Recall(gets []NearGet, results []Result) bool
}

// NearGet is a Get with Near and an optional Decode.
type NearGet struct {
	Key    string
	Decode Decoder
	Sparse bool // as in Op
}

// Recaller is a store that may have a Memory, or a wrapper that need not see gets a Memory answers.
// [GetAll] and similar functions ask the Memory first.
type Recaller interface {
	// Memory returns the Memory for gets under ctx, nil if each get is a trip, and the prefix of
	// its keys.
	Memory(ctx context.Context) (m Memory, prefix string)
}

// MemoryOf returns the Memory of s, or nil if s is not a [Recaller].
func MemoryOf(ctx context.Context, s Store) (m Memory, prefix string) {
	if r, ok := s.(Recaller); ok {
		return r.Memory(ctx)
	}
	return nil, ""
}

// Each wrapper passes the Memory of its store on.
func (n near) Memory(ctx context.Context) (Memory, string) { return MemoryOf(ctx, n.Store) }

func (p *prefixed) Memory(ctx context.Context) (Memory, string) {
	m, prefix := MemoryOf(ctx, p.Store)
	if m != nil {
		prefix += p.prefix
	}
	return m, prefix
}

// A Meter counts the answers of a local store, which therefore have to be trips.
func (c *counted) Memory(ctx context.Context) (Memory, string) {
	if c.powers.Local && IsMetered(ctx) {
		return nil, ""
	}
	return MemoryOf(ctx, c.Store)
}

func (t *traced) Memory(ctx context.Context) (Memory, string) { return MemoryOf(ctx, t.Store) }

// Memory returns the Memory of the underlying store.
func (r readOnly) Memory(ctx context.Context) (Memory, string) { return MemoryOf(ctx, r.Store) }

// Memory returns the Memory of the underlying store.
func (r *retried) Memory(ctx context.Context) (Memory, string) { return MemoryOf(ctx, r.Store) }

func (p *part) Memory(ctx context.Context) (Memory, string) {
	if p.powers.Local {
		ctx = p.meter.under(ctx)
	}
	return MemoryOf(ctx, p.store)
}
