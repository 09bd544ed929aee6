// Package examples shows how records are modelled, saved, found and changed.
// Begin with example_test.go; the structs it uses are in the other files, and
// what kvgen has written of them in those whose names end in kv.go.
package examples

//go:generate go tool kvgen
