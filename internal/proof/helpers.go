package proof

import (
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Clock moves only when a test advances it.
type Clock struct{ now atomic.Pointer[time.Time] }

func NewClock(at time.Time) *Clock {
	c := new(Clock)
	c.now.Store(&at)
	return c
}

func (c *Clock) Now() time.Time { return *c.now.Load() }

func (c *Clock) Advance(d time.Duration) {
	for was := c.now.Load(); ; was = c.now.Load() {
		if next := was.Add(d); c.now.CompareAndSwap(was, &next) {
			return
		}
	}
}

// Log records log output. A test may read it while others write.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *Log) Lines() []string {
	text := strings.TrimSpace(l.String())
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// Record collects events of other goroutines.
type Record[T any] struct {
	mu  sync.Mutex
	all []T
}

func (r *Record[T]) Add(v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, v)
}

// Take returns the events added since the last Take.
func (r *Record[T]) Take() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// Hook runs a func once, when another goroutine reaches a certain point.
type Hook struct{ f atomic.Pointer[func()] }

func (h *Hook) Set(f func()) { h.f.Store(&f) }

func (h *Hook) IsSet() bool { return h.f.Load() != nil }

func (h *Hook) Run() {
	if f := h.f.Swap(nil); f != nil {
		(*f)()
	}
}

// Allocs returns the number of allocations in a call of f. Under the race detector, which allocates
// too, it returns 0.
func Allocs(runs int, f func()) float64 {
	allocs := testing.AllocsPerRun(runs, f)
	if race {
		return 0
	}
	return allocs
}

// Tests end soon and produce much garbage: collecting it less often saves a sixth of their time.
// GOGC takes precedence.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
