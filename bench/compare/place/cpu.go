package place

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

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
