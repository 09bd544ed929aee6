package kvmodel

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// MaxValues is how many values a record may have in one index, unless max= says otherwise.
const MaxValues = 1000

// TooManyValuesError says that a record has more values than an index takes. It is an
// ErrTooLarge.
type TooManyValuesError struct {
	Fields []string // that have the values, or the method that returns them
	Number int
	Limit  int
}

func (e *TooManyValuesError) Error() string {
	return fmt.Sprintf("%s has %d values; an index takes at most %d", strings.Join(e.Fields, ", "), e.Number, e.Limit)
}

// Is makes a TooManyValuesError an ErrTooLarge.
func (e *TooManyValuesError) Is(target error) bool { return target == kv.ErrTooLarge }

// limits returns a *TooManyValuesError if v has more values than an index takes.
func (m *model) limits(v plug.Record) error {
	for _, index := range m.indexes() {
		if l, ok := index.(plug.Limited); ok {
			if err := l.Limit(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// limited returns a *TooManyValuesError of fields if the number of values exceeds a limit, which
// is MaxValues if limit is 0.
func limited(number, limit int, fields func() []string) error {
	if limit = cmp.Or(limit, MaxValues); number > limit {
		return &TooManyValuesError{Fields: fields(), Number: number, Limit: limit}
	}
	return nil
}
