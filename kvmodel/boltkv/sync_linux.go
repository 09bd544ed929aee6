package boltkv

import (
	"os"
	"syscall"
)

// syncData syncs what f holds, and of what is known about it as much as takes to read that.
func syncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
