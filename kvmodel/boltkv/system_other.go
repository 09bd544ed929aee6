//go:build !linux

package boltkv

import (
	"errors"
	"os"
)

// syncData syncs f.
func syncData(f *os.File) error { return f.Sync() }

// roomIn is not implemented on this system.
func roomIn(string) (room, error) {
	return room{}, errors.New("it is supported on Linux only")
}
