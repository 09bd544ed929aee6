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
	// Open returns a client of the store called name. A name it has not met is
	// an empty store; the same name again is another client of the same data,
	// or, of a store that has one client at a time, the reopened data. The
	// suite closes what it opened; Open may leave the rest to t.Cleanup.
	Open func(t testing.TB, name string) kv.Store

	// Shared: two clients of one store may be open at once.
	Shared bool

	// Kept: the data is still there after the last client has closed.
	Kept bool

	// Advance moves the clock that TTLs go by. Where it is nil the suite waits.
	Advance func(d time.Duration)

	// Prefix is how many bytes Open's stores put before a key, as those of
	// kv.Prefix do. The longest key is that much shorter.
	Prefix int

	// Loose: the engine has limits of its own where the contract allows that:
	// Append can grow a value a little past MaxValue, and an Increment past
	// MaxNumber is taken back.
	Loose bool
}

var names atomic.Int64

// newName returns a store name that this process has not used.
func newName() string { return fmt.Sprintf("kvtest%d", names.Add(1)) }
