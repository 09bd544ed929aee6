package proof

import "sync/atomic"

// Hook runs a func of a test once, when another goroutine reaches a certain point.
type Hook struct{ f atomic.Pointer[func()] }

// Set makes the next Run call f.
func (h *Hook) Set(f func()) { h.f.Store(&f) }

// IsSet reports whether Run would call a func.
func (h *Hook) IsSet() bool { return h.f.Load() != nil }

// Run calls the func that was set, unless already called.
func (h *Hook) Run() {
	if f := h.f.Swap(nil); f != nil {
		(*f)()
	}
}
