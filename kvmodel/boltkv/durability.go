package boltkv

import "fmt"

// Durability says which answered writes can be lost. None are lost when the
// process ends, even by kill -9. The choices differ in what a crash of the
// machine, such as a power cut, can do.
type Durability int

const (
	// Synced: a write is on disk before it is answered, and a relaxed one a second
	// later; see kv.Relaxed. A crash of the machine loses nothing else.
	Synced Durability = iota

	// Periodic: what was written is on disk a second later. A crash of the machine
	// can take the writes of the last second; what is left is what the store held
	// at some moment before it.
	Periodic

	// Unsynced: the operating system decides when to write, and so does the store
	// when it moves what its log holds to its file, and Close. A crash of the machine
	// can take the writes of the last half minute or so; what is left is what the
	// store held at some moment before it.
	Unsynced
)

var durabilityNames = [...]string{Synced: "synced", Periodic: "periodic", Unsynced: "unsynced"}

// String returns the name, as in a URL.
func (d Durability) String() string {
	if d < 0 || int(d) >= len(durabilityNames) {
		return fmt.Sprintf("Durability(%d)", int(d))
	}
	return durabilityNames[d]
}
