package kv

import "context"

type relaxedKey struct{}

// Relaxed returns a context under which a write need not wait for a disk. A crash of the machine,
// but not of the process, can undo it and all writes after it, until a write that is not relaxed is
// answered or a second has passed. Stores without a disk ignore it.
func Relaxed(ctx context.Context) context.Context { return context.WithValue(ctx, relaxedKey{}, true) }

// IsRelaxed reports whether a write under ctx need not wait for a disk.
func IsRelaxed(ctx context.Context) bool { return ctx.Value(relaxedKey{}) != nil }
