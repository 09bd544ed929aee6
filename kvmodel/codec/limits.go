package codec

import (
	"math/bits"
	"unsafe"
)

// MaxDepth is the maximum nesting of slices, maps and pointers in a stored value.
const MaxDepth = 256

// maxNesting is the maximum nesting of stored arrays and maps where no type limits it. Structs are
// maps too, so it is well over MaxDepth.
const maxNesting = 16 * MaxDepth

const (
	memoryFactor = 13       // bytes of slices, maps and pointers per stored byte
	memoryFloor  = 64 << 10 // always allowed, however short the input
)

func memoryLimit(size int) int64 {
	return max(memoryFloor, memoryFactor*int64(size))
}

type account struct {
	depth  int
	memory int64
}

func sliceSize[T any](n int) int64 {
	var v T
	return int64(n) * int64(unsafe.Sizeof(v))
}

// mapSize returns the bytes of a map with n entries.
func mapSize[K comparable, V any](n int) int64 {
	if n == 0 {
		return 0
	}
	slots := max(8, 1<<bits.Len(uint(n+n/7)))
	return sliceSize[struct {
		key   K
		value V
	}](slots) + int64(slots)
}
