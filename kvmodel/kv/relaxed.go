package kv

import "context"

type relaxedKey struct{}

// Relaxed returns a context under which a write need not wait for a disk. A store that keeps its
// writes in order on a disk answers such a write once other readers see it. A crash of the
// machine, but not of the process, can undo it, together with all writes behind it, until a
// write that is not relaxed is answered or a second has passed. Other stores ignore it.
func Relaxed(ctx context.Context) context.Context { return context.WithValue(ctx, relaxedKey{}, true) }

// IsRelaxed reports whether a write under ctx need not wait for a disk.
func IsRelaxed(ctx context.Context) bool { return ctx.Value(relaxedKey{}) != nil }
