package proof

import "sync/atomic"

// Hook is what a test wants to happen once, as soon as another goroutine comes to a point.
type Hook struct{ f atomic.Pointer[func()] }

// Set makes the next Run call f.
func (h *Hook) Set(f func()) { h.f.Store(&f) }

// IsSet reports whether Run has something to call.
func (h *Hook) IsSet() bool { return h.f.Load() != nil }

// Run calls the function that was set, if it was not called yet.
func (h *Hook) Run() {
	if f := h.f.Swap(nil); f != nil {
		(*f)()
	}
}
