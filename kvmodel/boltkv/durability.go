package boltkv

import "fmt"

// Durability selects the answered writes that a crash of the machine, such as a power cut, can
// undo. None are lost when the process ends, even by kill -9.
type Durability int

const (
	// Synced: a write is on disk before it is answered, and a relaxed one a second later; see
	// kv.Relaxed.
	Synced Durability = iota

	// Periodic: a write is on disk a second later. A crash can undo the last second.
	Periodic

	// Unsynced: the operating system decides when to write. A crash can undo the last half minute
	// or so. The store syncs when it moves its log to its file, and in Close.
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
