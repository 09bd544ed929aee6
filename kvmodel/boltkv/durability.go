package boltkv

import "fmt"

// Durability says which answered writes can be lost. None are lost when the
// process ends, even by kill -9. The choices differ in what a crash of the
// machine, such as a power cut, can do.
type Durability int

const (
	// Synced: a write is on disk before it is answered. A crash of the machine
	// loses nothing.
	Synced Durability = iota

	// Periodic: the file is synced once a second. A crash of the machine loses
	// the writes of the last second or, because parts of the file reach the disk
	// in any order, leaves a file that cannot be opened. For data that can be
	// created again.
	Periodic

	// Unsynced: the operating system decides when to write the file, and Close
	// syncs it. A crash of the machine does what it does to a Periodic file, to
	// the writes of the last half minute or so. For tests and imports.
	Unsynced
)

var durabilityNames = [...]string{Synced: "synced", Periodic: "periodic", Unsynced: "unsynced"}

// String returns the name that ParseDurability reads.
func (d Durability) String() string {
	if d < 0 || int(d) >= len(durabilityNames) {
		return fmt.Sprintf("Durability(%d)", int(d))
	}
	return durabilityNames[d]
}

// ParseDurability returns the durability of that name.
func ParseDurability(name string) (Durability, error) {
	for d, known := range durabilityNames {
		if name == known {
			return Durability(d), nil
		}
	}
	return 0, fmt.Errorf("boltkv: unknown durability %.40q, want one of %q", name, durabilityNames)
}
