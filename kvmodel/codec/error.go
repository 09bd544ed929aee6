package codec

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unsafe"
)

var (
	// ErrCorrupt is wrapped by every error about stored bytes.
	ErrCorrupt = errors.New("corrupt data")

	// ErrNotStorable is wrapped by every error about a value that has no stored form. Nothing was
	// written.
	ErrNotStorable = errors.New("value cannot be stored")
)

// Error describes an error in stored bytes. It wraps ErrCorrupt and, if a type's own decoder
// failed, that decoder's error.
type Error struct {
	Offset int    // of the value's first byte
	Reason string // the expected and the actual content
	Cause  error  // from a type that decodes itself, otherwise nil

	steps []string // the path to the field, innermost first
}

// Path returns the field that the bytes belong to, such as "Author.Emails[3]".
func (e *Error) Path() string {
	var path strings.Builder
	for _, step := range slices.Backward(e.steps) {
		if path.Len() > 0 && step[0] != '[' {
			path.WriteByte('.')
		}
		path.WriteString(step)
	}
	return path.String()
}

func (e *Error) Error() string {
	where := fmt.Sprintf("offset %d", e.Offset)
	if path := e.Path(); path != "" {
		where = path + " at " + where
	}
	return fmt.Sprintf("%v: %s: %s", ErrCorrupt, where, e.Reason)
}

func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrCorrupt}
	}
	return []error{ErrCorrupt, e.Cause}
}

func (e *Error) within(step string) {
	e.steps = append(e.steps, step)
}

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
