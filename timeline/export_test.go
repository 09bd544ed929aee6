package timeline

func (r *Ring[T]) SortAtOnce(n int) { r.ring.core.sorted = n }

func (r *Rings[T, V]) SortAtOnce(n int) { r.core.sorted = n }

func Seal(data []byte) []byte { return seal(data) }
