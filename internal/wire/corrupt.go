package wire

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/codec"
)

// CorruptError says which stored items are not what this module writes. It is an
// ErrCorrupt.
type CorruptError struct {
	Keys []string // of the items, as the DB's store has them
	Err  error    // what is wrong
}

func (e *CorruptError) Error() string {
	return codec.ErrCorrupt.Error() + " in " + strings.Join(e.Keys, ", ") + ": " + strings.TrimPrefix(e.Err.Error(), codec.ErrCorrupt.Error()+": ")
}

func (e *CorruptError) Unwrap() error { return e.Err }

// Is makes a CorruptError an ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == codec.ErrCorrupt }

// Corrupt returns err, which says what is wrong with the item under key, as a
// CorruptError; nil if err is nil.
func Corrupt(key string, err error) error {
	if err == nil {
		return nil
	}
	return &CorruptError{Keys: []string{key}, Err: err}
}

// IsCorrupt reports whether err says that an item is not what this module writes.
func IsCorrupt(err error) bool { return errors.Is(err, codec.ErrCorrupt) }

// JoinCorrupt returns what a and b say of damaged items, each nil or of Corrupt, as one.
func JoinCorrupt(a, b error) error {
	x, _ := errors.AsType[*CorruptError](a)
	y, _ := errors.AsType[*CorruptError](b)
	if x == nil || y == nil {
		return cmp.Or(a, b)
	}
	return &CorruptError{Keys: slices.Concat(x.Keys, y.Keys), Err: x.Err}
}
