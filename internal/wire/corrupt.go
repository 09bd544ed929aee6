package wire

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/codec"
)

// CorruptError names stored items that this module did not write. It is an ErrCorrupt.
type CorruptError struct {
	Keys []string // of the items in the DB's store
	Err  error    // the fault
}

func (e *CorruptError) Error() string {
	return codec.ErrCorrupt.Error() + " in " + strings.Join(e.Keys, ", ") + ": " + strings.TrimPrefix(e.Err.Error(), codec.ErrCorrupt.Error()+": ")
}

func (e *CorruptError) Unwrap() error { return e.Err }

func (e *CorruptError) Is(target error) bool { return target == codec.ErrCorrupt }

// Corrupt returns err, the fault of the item under key, as a CorruptError; nil if err is nil.
func Corrupt(key string, err error) error {
	if err == nil {
		return nil
	}
	return &CorruptError{Keys: []string{key}, Err: err}
}

func IsCorrupt(err error) bool { return errors.Is(err, codec.ErrCorrupt) }

// JoinCorrupt joins two errors about damaged items, each nil or from Corrupt.
func JoinCorrupt(a, b error) error {
	x, _ := errors.AsType[*CorruptError](a)
	y, _ := errors.AsType[*CorruptError](b)
	if x == nil || y == nil {
		return cmp.Or(a, b)
	}
	return &CorruptError{Keys: slices.Concat(x.Keys, y.Keys), Err: x.Err}
}
