package place

import (
	"errors"
	"io"
	"os"
	"syscall"
	"unsafe"
)

// Read brings files into the page cache as far as there is room, and returns how many of their
// bytes are there.
func Read(files []string) (cached, size int64, err error) {
	var errs []error
	for _, name := range files {
		c, s, err := read(name)
		cached, size = cached+c, size+s
		if !errors.Is(err, os.ErrNotExist) { // Servers remove files.
			errs = append(errs, err)
		}
	}
	return cached, size, errors.Join(errs...)
}

func read(name string) (cached, size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	if size, err = io.Copy(io.Discard, f); err != nil || size == 0 {
		return 0, size, err
	}
	cached, err = resident(f, size)
	return cached, size, err
}

func resident(f *os.File, size int64) (int64, error) {
	data, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return 0, err
	}
	defer syscall.Munmap(data)
	page := int64(os.Getpagesize())
	in := make([]byte, (size+page-1)/page)
	_, _, failed := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&data[0])), uintptr(size), uintptr(unsafe.Pointer(&in[0])))
	if failed != 0 {
		return 0, failed
	}
	n := int64(0)
	for _, there := range in {
		n += int64(there & 1)
	}
	return min(n*page, size), nil
}
