package boltkv

import "fmt"

// Durability selects which answered writes can be lost. None are lost when the process ends, even
// by kill -9. The choices differ in the effect of a crash of the machine, such as a power cut.
type Durability int

const (
	// Synced: a write is on disk before it is answered, and a relaxed one a second
	// later; see kv.Relaxed. A crash of the machine loses nothing else.
	Synced Durability = iota

	// Periodic: a write is on disk a second later. A crash of the machine can lose the writes of
	// the last second; the rest is the state of the store at an earlier moment.
	Periodic

	// Unsynced: the operating system decides when to write; the store also syncs when it moves its
	// log to its file, and in Close. A crash of the machine can lose the writes of the last half
	// minute or so; the rest is the state of the store at an earlier moment.
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
