package core

import (
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// TakenError names a unique value that another record holds. It is an ErrExists.
type TakenError struct {
	Model  string
	Index  string
	Fields []string // or the method that returns the value
	Value  string   // as text
	ID     string   // of the other record
	By     string   // of the record that wants the value, if a build finds it

	Private bool // the index is over a private field, so the error masks the value
}

func (e *TakenError) Error() string {
	value := kv.Quote(e.Value)
	if e.Private {
		value = "***"
	}
	return e.Model + "." + e.Index + ": " + strings.Join(e.Fields, ", ") + " " + value + " is taken by " + kv.Quote(e.ID)
}

func (e *TakenError) Is(target error) bool { return target == kv.ErrExists }
