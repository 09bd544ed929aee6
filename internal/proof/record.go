package proof

import "sync"

// Record collects events of other goroutines for a test.
type Record[T any] struct {
	mu  sync.Mutex
	all []T
}

// Add adds v.
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
