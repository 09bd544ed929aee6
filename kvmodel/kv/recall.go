package kv

import "context"

// Memory answers gets with Near at once.
type Memory interface {
	// Recall makes results the answers of a trip of gets, of one time, or returns false if
	// the store has to be read for one of them. It keeps nothing of gets, not even a key.
	Recall(gets []NearGet, results []Result) bool
}

// NearGet is a Get with Near and, unless it is nil, with Decode.
type NearGet struct {
	Key    string
	Decode Decoder
	Sparse bool // as in an Op
}

// Recaller is a store that may have a Memory, or a wrapper with nothing to do for a get that
// one answers. [GetAll] and its like ask the Memory first.
type Recaller interface {
	// Memory returns the Memory for gets under ctx, in which prefix begins each key; nil:
	// each get is a trip.
	Memory(ctx context.Context) (m Memory, prefix string)
}

// MemoryOf returns the Memory of s, which is nil unless s is a [Recaller].
func MemoryOf(ctx context.Context, s Store) (m Memory, prefix string) {
	if r, ok := s.(Recaller); ok {
		return r.Memory(ctx)
	}
	return nil, ""
}

// Memory returns that of the store underneath. No other store has gets with Near.
func (n near) Memory(ctx context.Context) (Memory, string) { return MemoryOf(ctx, n.Store) }

// Memory returns that of the store underneath, for keys of the tenant.
func (p *prefixed) Memory(ctx context.Context) (Memory, string) {
	m, prefix := MemoryOf(ctx, p.Store)
	if m != nil {
		prefix += p.prefix
	}
	return m, prefix
}

// Memory returns that of the store underneath, unless ctx has a Meter.
func (c *counted) Memory(ctx context.Context) (Memory, string) {
	if IsMetered(ctx) {
		return nil, ""
	}
	return MemoryOf(ctx, c.Store)
}

// Memory returns that of the store underneath.
func (r readOnly) Memory(ctx context.Context) (Memory, string) { return MemoryOf(ctx, r.Store) }

// Memory returns that of the store underneath.
func (r *retried) Memory(ctx context.Context) (Memory, string) { return MemoryOf(ctx, r.Store) }

// Memory returns that of the store underneath: what it answers needs no trip to share.
func (p *part) Memory(ctx context.Context) (Memory, string) {
	if p.powers.Local {
		ctx = p.meter.under(ctx)
	}
	return MemoryOf(ctx, p.store)
}
