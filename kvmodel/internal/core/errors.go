package core

import (
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// TakenError names a unique value that another record holds.
type TakenError struct {
	Model  string
	Index  string
	Fields []string // that have the value, or the method that returns it
	Value  string   // the value as text
	ID     string   // the text of the id of the record that holds it

	Private bool // the index is over a private field, so the error text masks the value
}

func (e *TakenError) Error() string {
	value := kv.Quote(e.Value)
	if e.Private {
		value = "***"
	}
	return e.Model + "." + e.Index + ": " + strings.Join(e.Fields, ", ") + " " + value + " is taken by " + kv.Quote(e.ID)
}

// Is reports whether target is ErrExists.
func (e *TakenError) Is(target error) bool { return target == kv.ErrExists }
