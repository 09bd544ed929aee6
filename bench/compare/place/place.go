// Package place provides storage for the peers of a comparison: a folder, and servers that it
// starts.
package place

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

type Place struct {
	Dir                        string
	Postgres, Redis, Memcached string // HOST:PORT of empty servers
	PostgresDir                string
	Pids                       map[string]int
}

// Fill inserts the folder and the addresses of p into url, for %s, %redis and %memcached.
func (p Place) Fill(url string) string {
	return strings.NewReplacer("%s", p.Dir, "%redis", p.Redis, "%memcached", p.Memcached).Replace(url)
}

const Clients = 32

type Kind[T any] struct {
	Name    string
	Server  string // the program of its server, or ""
	Durable string // the loss in a crash of the machine or the server
	File    string // prefix of its file names, in the folder of a place
	Open    Opener[T]
}

type Opener[T any] func(context.Context, Place) (T, error)

func Over[D, T any](open Opener[D], peer func(D) T) Opener[T] {
	return func(ctx context.Context, at Place) (p T, err error) {
		db, err := open(ctx, at)
		if err == nil {
			p = peer(db)
		}
		return p, err
	}
}

const (
	Nothing    = "nothing"
	LastWrites = "the last writes"
	Everything = "everything"
)

// Losses has the least first.
var Losses = []string{Nothing, LastWrites, Everything}

func Files[T any](k Kind[T], at Place) []string {
	switch {
	case k.File != "":
		all, _ := filepath.Glob(filepath.Join(at.Dir, k.File+"*"))
		return all
	case k.Server == Postgres:
		all, _ := filepath.Glob(filepath.Join(at.PostgresDir, "base", "*", "*"))
		return all
	}
	return nil
}

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

func OwnCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// tick is Linux's unit in /proc/PID/stat.
const tick = 10 * time.Millisecond

// CPU returns the CPU time of a process and its children, 0 if unknown.
func CPU(pid int) (used time.Duration) {
	if pid == 0 {
		return 0
	}
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // It has just ended.
		}
		of, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		// The name of the program, in parentheses, may have blanks.
		_, after, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		if len(fields) < 15 || of != pid && fields[1] != strconv.Itoa(pid) {
			continue
		}
		last := 13 // user and system
		if of == pid {
			last = 15 // plus those of its ended children
		}
		for _, field := range fields[11:last] {
			n, _ := strconv.Atoi(field)
			used += time.Duration(n) * tick
		}
	}
	return used
}

func Written() int64 {
	text, _ := os.ReadFile("/proc/self/io")
	for line := range strings.Lines(string(text)) {
		if number, ok := strings.CutPrefix(line, "wchar: "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			return n
		}
	}
	return 0
}
