package kvmodel

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// MaxValues is the default limit of a record's values in one index; max= changes it.
const MaxValues = 1000

// TooManyValuesError means that a record has more values than an index accepts. It is an
// ErrTooLarge.
type TooManyValuesError struct {
	Fields []string // fields of the values, or their method
	Number int
	Limit  int
}

func (e *TooManyValuesError) Error() string {
	return fmt.Sprintf("%s has %d values; an index takes at most %d", strings.Join(e.Fields, ", "), e.Number, e.Limit)
}

// Is reports whether target is ErrTooLarge.
func (e *TooManyValuesError) Is(target error) bool { return target == kv.ErrTooLarge }

// limited returns a *TooManyValuesError for fields if number exceeds limit, or MaxValues if limit
// is 0.
func limited(number, limit int, fields func() []string) error {
	if limit = cmp.Or(limit, MaxValues); number > limit {
		return &TooManyValuesError{Fields: fields(), Number: number, Limit: limit}
	}
	return nil
}
