package timeline

func (r *Ring[T]) SortAtOnce(n int) { r.ring.core.sorted = n }

func (r *Rings[T, V]) SortAtOnce(n int) { r.core.sorted = n }
