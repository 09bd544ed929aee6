package proof

import "sync"

// Record is what a test takes down of what other goroutines do.
type Record[T any] struct {
	mu  sync.Mutex
	all []T
}

// Add takes v down.
func (r *Record[T]) Add(v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, v)
}

// Take returns what was taken down since the last Take.
func (r *Record[T]) Take() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}
