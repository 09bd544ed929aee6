package kv

import (
	"context"
	"time"
)

// Limits that hold on every store. A larger key or value is refused before it is sent, so
// stored items are never harmed.
const (
	MaxKey    = 250           // bytes of a key
	MaxValue  = 1<<20 - 8<<10 // bytes of a value
	MaxNumber = 1 << 62       // the largest number an item can be incremented to
	MaxTTL    = 5 * 365 * 24 * time.Hour
)

// Store is what a backend implements: it carries out operations, each atomic
// on its own key.
//
// A Store is safe for use by many goroutines at once.
type Store interface {
	// Do carries out ops in one round trip where the engine can, in no
	// promised order, and fills in each op's Result. Each op is atomic on its
	// own key; the ops of one call are not atomic together, and two ops on one
	// key may take effect in either order.
	//
	// Do returns nil if the store answered every op, whatever the answers are:
	// a Get of an absent key is an answer. It returns an error, the first of
	// its kind, if some op ended in ErrUnavailable, ErrUnclear or ErrLost; the
	// other ops' Results are valid all the same.
	//
	// The caller must not change Key, Value or Unless while Do runs; once it
	// has returned, the store keeps nothing of them. A Result's Value belongs
	// to the caller.
	//
	// When ctx ends, Do returns soon. An op that was not sent by then is
	// ErrUnavailable; a Get without an answer is ErrUnavailable too; a write
	// without an answer is ErrUnclear. All of these also wrap ctx.Err(), or the
	// error of [Ended].
	Do(ctx context.Context, ops []Op) error

	// Close ends the use of the store and frees what it holds. Ops that come
	// later are ErrUnavailable. A second Close does nothing.
	Close() error
}

// Kind says what an Op does.
type Kind uint8

// The kinds of operation, with the answers each can have besides success.
const (
	_ Kind = iota

	// Get reads the value and its version. ErrNotFound.
	Get

	// Set stores the value, whatever was there before.
	Set

	// Add stores the value if the key is absent. ErrExists.
	Add

	// CompareAndSwap stores the value if the item still has Op.Version.
	// ErrNotFound if the key is absent, ErrConflict if the item has changed.
	CompareAndSwap

	// Delete removes the item. ErrNotFound.
	Delete

	// CompareAndDelete removes the item if it still has Op.Version.
	// ErrNotFound, ErrConflict.
	CompareAndDelete

	// Append adds bytes to the end of a value that exists, and leaves its
	// expiry as it is. ErrNotStored if the key is absent or the value would
	// grow past the limit: only a Get tells which. The limit is MaxValue, or
	// one of the engine's own within the 8 KiB above it. ErrSealed if the value
	// ends with Op.Unless.
	Append

	// Increment adds Op.Delta to a value that is a decimal number, leaves its
	// expiry as it is, and answers the sum, which is 0 where it would be
	// negative. ErrNotFound; ErrNotNumber if the value is not a number in
	// 0..MaxNumber, or the sum would exceed MaxNumber, which an engine may
	// notice late and take back: then the number stays, but not the version.
	Increment
)

var kindNames = [...]string{
	Get: "get", Set: "set", Add: "add", CompareAndSwap: "cas", Delete: "delete",
	CompareAndDelete: "cdel", Append: "append", Increment: "incr",
}

// String returns the kind's short name, as traces and errors show it.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// Writes reports whether an op of this kind can change the store.
func (k Kind) Writes() bool { return k != Get }

// Version identifies one state of one item. Every change of an item gives it
// a version it never had before, also across a deletion. A version comes from
// a Get and can only be compared, on the same key of the same store. The zero Version belongs to no item.
type Version uint64

// Op is one operation on one key, and after Do its result.
type Op struct {
	Kind    Kind
	Key     string
	Value   []byte        // Set, Add, CompareAndSwap, Append
	Version Version       // CompareAndSwap, CompareAndDelete
	TTL     time.Duration // Set, Add, CompareAndSwap; 0 means forever
	Unless  []byte        // Append, on stores with Powers.Unless
	Delta   int64         // Increment
	Near    bool          // Get: may be answered from memory, on stores with Powers.Near; Value is then shared
	Sparse  bool          // Get with Near: what others have stored a flight ago may be missing; see the function Sparse
	Decode  Decoder       // Get with Near; not nil: the store may keep what it returns

	Result Result
}

// Result is what the store answered to one op.
//
// An item with a TTL is there until the TTL has passed and is gone at most
// two seconds later.
type Result struct {
	Value   []byte  // Get; never nil when Err is nil
	Decoded any     // Get: what Decode has returned for Value, if it was kept; see Decoder
	Version Version // Get
	Number  int64   // Increment
	Near    bool    // Get: answered from memory, without a trip
	Err     error   // nil, or one of the package's sentinels, perhaps wrapped
}
