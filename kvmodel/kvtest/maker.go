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
	// Open returns a client of the store called name: an empty store, or another client of the same
	// data if the name was used before. If the store allows one client at a time, Open opens the
	// data again. The suite closes the store.
	Open func(t testing.TB, name string) kv.Store

	// Shared: two clients of one store may be open at once.
	Shared bool

	// Kept: the data outlives the last client.
	Kept bool

	// Abandon, if not nil, copies the open store called name as a crash of its process would leave
	// it, and returns the name of the copy. It must hold the same items after every case.
	Abandon func(t testing.TB, name string) (copied string)

	// Advance moves the clock used for TTLs, which stands still otherwise. If it is nil, the suite
	// waits.
	Advance func(d time.Duration)

	// Clocks returns the times of the servers' clocks, in whole seconds, if these decide when a TTL
	// has passed. If it is nil, the clock of this process does.
	Clocks func(t testing.TB) []time.Time

	// Shown: Run reads with [kv.Near] and a Decoder in each get, whose result the store must keep.
	Shown bool

	// Prefix is the number of bytes that Open's stores put before each key.
	Prefix int

	// Loose: Append can grow a value slightly past MaxValue, and an Increment past MaxNumber is
	// undone.
	Loose bool
}

var names atomic.Int64

func newName() string { return fmt.Sprintf("kvtest%d", names.Add(1)) }
