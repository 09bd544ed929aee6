package kvmodel

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Problems describes invalid fields of a record, by their names in lower case, as in a form.
// Validate may return it. It is an ErrInvalid.
type Problems map[string]string

func (p Problems) Error() string {
	var all []string
	for _, field := range slices.Sorted(maps.Keys(p)) {
		all = append(all, field+": "+p[field])
	}
	return strings.Join(all, "; ")
}

// Is reports whether target is ErrInvalid.
func (p Problems) Is(target error) bool { return target == ErrInvalid }

// Add records a problem with a field, unless the text is empty or the field already has one.
func (p Problems) Add(field, problem string) {
	if field = strings.ToLower(field); problem != "" && p[field] == "" {
		p[field] = problem
	}
}

// Err returns p, or nil if there are no problems.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// ProblemsOf returns the problems with fields in err: the Problems from Validate, unique values
// that are taken, and too many values. It is empty for other errors.
func ProblemsOf(err error) Problems {
	all := Problems{}
	if p, ok := errors.AsType[Problems](err); ok {
		maps.Copy(all, p)
	}
	if taken, ok := errors.AsType[*TakenError](err); ok {
		text := "“" + taken.Value + "” is taken."
		if len(taken.Fields) > 1 {
			text = "These are taken together."
		}
		for _, field := range taken.Fields {
			all.Add(field, text)
		}
	}
	if many, ok := errors.AsType[*TooManyValuesError](err); ok {
		for _, field := range many.Fields {
			all.Add(field, fmt.Sprintf("There are %d, and there may be %d.", many.Number, many.Limit))
		}
	}
	return all
}
