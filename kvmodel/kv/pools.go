package kv

import "sync"

// pools are pools of reusable memory, by class of size: hundreds of small ones may be in use at a
// time, each for a trip, and must not be as large as the largest ever was.
type pools[T any] [classes]sync.Pool

const classes = 4

// classOf returns the class of memory for n elements: up to 8, 64, 512 or 4096. Larger memory is
// not reused.
func classOf(n int) (class int) {
	for class < classes && n > 8<<(3*class) {
		class++
	}
	return class
}

func (p *pools[T]) take(n int) *T {
	if class := classOf(n); class < classes {
		if v, ok := p[class].Get().(*T); ok {
			return v
		}
	}
	return new(T)
}

// put keeps v, which never had more elements than its class has.
func (p *pools[T]) put(class int, v *T) {
	if class < classes {
		p[class].Put(v)
	}
}
