package boltkv

import "fmt"

// Durability says what can be lost of the writes that were answered. No choice
// loses anything when the process ends, however it ends: kill -9 included. They
// differ in what a crash of the machine, such as a power cut, can do.
type Durability int

const (
	// Synced: a write is on the disk before it is answered. A crash of the
	// machine loses nothing.
	Synced Durability = iota

	// Periodic: the file is synced once a second. A crash of the machine loses
	// the writes of the last second, or, because their pages reach the disk in
	// any order, leaves a file that cannot be opened. For data that can be
	// made again.
	Periodic

	// Unsynced: the operating system writes the file when it likes, and Close
	// syncs it. A crash of the machine has the effects of Periodic, for the
	// writes of the last half minute or so. For tests and imports.
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
