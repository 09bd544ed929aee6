//go:build !linux

package boltkv

import (
	"errors"
	"os"
)

func syncData(f *os.File) error { return f.Sync() }

func roomIn(string) (room, error) {
	return room{}, errors.New("it is supported on Linux only")
}
