package kv

import "context"

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
