package kvtest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Maker opens the store under test.
type Maker struct {
	// Open returns a client of the store called name. A new name gives an empty
	// store. A name used before gives another client of the same data or, if
	// the store allows one client at a time, opens the data again. The suite
	// closes what it opened; Open may leave the rest to t.Cleanup.
	Open func(t testing.TB, name string) kv.Store

	// Shared: two clients of one store may be open at once.
	Shared bool

	// Kept: the data is still there after the last client has closed.
	Kept bool

	// Abandon, if not nil, copies what the open store called name has written so far, as
	// a crash of its process would leave it, and returns the name of the copy. Every case
	// then also holds after a crash: at its end the copy must hold what the store holds.
	Abandon func(t testing.TB, name string) (copied string)

	// Advance moves the clock used for TTLs, which stands still otherwise. If it is nil,
	// the suite waits.
	Advance func(d time.Duration)

	// Clocks returns what the clocks of the servers tell, in whole seconds, where these
	// decide when a TTL has passed. If it is nil, the clock of this process does.
	Clocks func(t testing.TB) []time.Time

	// Shown: Run reads the stores as [kv.Near] does, with a Decoder in each get. A test fails
	// if a store keeps something else than what that has returned.
	Shown bool

	// Prefix is the number of bytes Open's stores put before each key, as those
	// of kv.Prefix do. The longest key is that much shorter.
	Prefix int

	// Loose: the engine has its own limits where the contract allows that:
	// Append can grow a value slightly past MaxValue, and an Increment past
	// MaxNumber is undone.
	Loose bool
}

var names atomic.Int64

// newName returns a store name that this process has not used before.
func newName() string { return fmt.Sprintf("kvtest%d", names.Add(1)) }
