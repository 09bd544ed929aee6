package boltkv

import "fmt"

// Durability selects the answered writes that a crash of the machine can undo. The end of the
// process, even by kill -9, undoes none.
type Durability int

const (
	// Synced: no write, except relaxed ones of the last second (kv.Relaxed).
	Synced Durability = iota

	// Periodic: the writes of the last second.
	Periodic

	// Unsynced: the writes of about half a minute. The operating system decides when to write.
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
