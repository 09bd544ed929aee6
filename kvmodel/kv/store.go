// Package kv defines the contract of a key-value store.
//
// A backend implements [Store]: one method that carries out a batch of single-key operations in one
// round trip, called a trip. [PowersOf] returns the optional abilities of a store.
//
// Wrappers add features: [Count] adds up the cost of a request, [Trace] shows each trip to a hook,
// [Prefix] gives a tenant its own keys, and [Retry] repeats failed operations where that is safe.
//
// Caveats. A store promises atomicity for one key at a time. An operation may end as [ErrUnclear]:
// nobody knows whether it was or will be carried out. The comment there says how to proceed.
package kv

import (
	"context"
	"time"
)

// Limits of every store. A larger key or value is refused before it is sent.
const (
	MaxKey    = 250           // bytes of a key
	MaxValue  = 1<<20 - 8<<10 // bytes of a value
	MaxNumber = 1 << 62       // the largest sum of Increment
	MaxTTL    = 5 * 365 * 24 * time.Hour
)

// Store carries out operations, each atomic on its own key. It is safe for concurrent use.
type Store interface {
	// Do carries out ops, in one round trip if the engine can, in no particular order, and fills in
	// each op's Result. The ops of one call are not atomic together, and two ops on one key may
	// take effect in either order.
	//
	// Do returns nil if the store answered every op: a Get of an absent key is answered. If some op
	// ended in ErrUnavailable, ErrUnclear or ErrLost, Do returns the first such error; the Results
	// of the other ops are still valid.
	//
	// The caller must not change Key, Value or Unless while Do runs. The store retains none of them
	// afterwards. A Result's Value belongs to the caller.
	//
	// When ctx ends, Do returns soon. An op that was not sent is ErrUnavailable, as is a Get
	// without an answer; a write without an answer is ErrUnclear. All of these also wrap ctx.Err(),
	// or the error of [Ended].
	Do(ctx context.Context, ops []Op) error

	// Close frees the store's resources. Later ops are ErrUnavailable. A second Close does nothing.
	Close() error
}

// Kind is the kind of an Op.
type Kind uint8

// The kinds of operation, with their possible answers besides success.
const (
	_ Kind = iota

	// Get reads the value and its version. ErrNotFound.
	Get

	// Set stores the value unconditionally.
	Set

	// Add stores the value if the key is absent. ErrExists.
	Add

	// CompareAndSwap stores the value if the item still has Op.Version. ErrNotFound, or ErrConflict
	// if the item has changed.
	CompareAndSwap

	// Delete removes the item. ErrNotFound.
	Delete

	// CompareAndDelete removes the item if it still has Op.Version. ErrNotFound, ErrConflict.
	CompareAndDelete

	// Append adds bytes to the end of an existing value and keeps its expiry. ErrNotStored if the
	// key is absent or the value would exceed MaxValue, or a limit of the engine within the 8 KiB
	// above it. ErrSealed if the value ends with Op.Unless.
	Append

	// Increment adds Op.Delta to a decimal number, keeps its expiry, and returns the sum, or 0 if
	// it would be negative. ErrNotFound; ErrNotNumber if the value is not a number in 0..MaxNumber,
	// or the sum would exceed MaxNumber. An engine may notice the latter late and undo it: then the
	// number is unchanged but the version is not.
	Increment
)

var kindNames = [...]string{
	Get: "get", Set: "set", Add: "add", CompareAndSwap: "cas", Delete: "delete",
	CompareAndDelete: "cdel", Append: "append", Increment: "incr",
}

// String returns the kind's short name, for traces and errors.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// Writes reports whether an op of this kind can change the store.
func (k Kind) Writes() bool { return k != Get }

// Version identifies one state of an item. Every change gives the item a version it never had
// before, even after a deletion. Versions come from a Get and can only be compared, on the same key
// of the same store. The zero Version belongs to no item.
type Version uint64

// Op is one operation on one key and, after Do, its result.
//
// The ops of a Do that have the same Chain, other than 0, are a chain: each is carried out only if
// all earlier ones have succeeded. Otherwise it is ErrSkipped.
type Op struct {
	Kind    Kind
	Key     string
	Value   []byte        // Set, Add, CompareAndSwap, Append
	Version Version       // CompareAndSwap, CompareAndDelete
	TTL     time.Duration // Set, Add, CompareAndSwap; 0 means forever
	Unless  []byte        // Append, on stores with Powers.Unless
	Delta   int64         // Increment
	Chain   uint64        // on stores with Powers.Ordered; 0: none
	Near    bool          // Get: may be answered from memory, on stores with Powers.Near; Value is then shared
	Sparse  bool          // Get with Near: may miss values others stored a trip's time ago; see the function Sparse
	Decode  Decoder       // Get with Near: may be nil; the store may keep its result

	Result Result
}

// Result is the store's answer to one op.
//
// An item with a TTL exists until the TTL has passed and is gone at most two seconds later.
type Result struct {
	Value   []byte  // Get; never nil when Err is nil
	Decoded any     // Get: the result of Decode for Value, if the store kept it; see Decoder
	Version Version // Get
	Number  int64   // Increment
	Near    bool    // Get: answered from memory, without a trip
	Err     error   // nil, or one of the package's sentinels, perhaps wrapped
}

type relaxedKey struct{}

// Relaxed returns a context under which a write need not wait for a disk. A crash of the machine,
// but not of the process, can undo it and all writes after it, until a write that is not relaxed is
// answered or a second has passed. Stores without a disk ignore it.
func Relaxed(ctx context.Context) context.Context { return context.WithValue(ctx, relaxedKey{}, true) }

// IsRelaxed reports whether a write under ctx need not wait for a disk.
func IsRelaxed(ctx context.Context) bool { return ctx.Value(relaxedKey{}) != nil }
