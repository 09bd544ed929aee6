package timeline

// SortAtOnce sets how many records a build of r sorts at a time.
func (r *Ring[T]) SortAtOnce(n int) { r.ring.core.sorted = n }

// SortAtOnce sets how many records a build of r sorts at a time.
func (r *Rings[T, V]) SortAtOnce(n int) { r.core.sorted = n }

// Seal appends the sum of data to it.
func Seal(data []byte) []byte { return seal(data) }
