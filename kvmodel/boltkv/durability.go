package boltkv

import "fmt"

// Durability selects the answered writes that a crash of the machine can undo. A crash of the
// process, even kill -9, undoes none.
type Durability int

const (
	// Synced: a write is on disk before it is answered. Relaxed ones (kv.Relaxed) follow a second
	// later.
	Synced Durability = iota

	// Periodic: a crash can undo the last second.
	Periodic

	// Unsynced: the operating system decides when to write. A crash can undo about half a minute.
	// The store syncs when it moves its log, and in Close.
	Unsynced
)

var durabilityNames = [...]string{Synced: "synced", Periodic: "periodic", Unsynced: "unsynced"}

// String returns the name used in URLs.
func (d Durability) String() string {
	if d < 0 || int(d) >= len(durabilityNames) {
		return fmt.Sprintf("Durability(%d)", int(d))
	}
	return durabilityNames[d]
}
