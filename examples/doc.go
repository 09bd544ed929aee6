// Package examples shows how records are modelled, saved, found and changed.
// Begin with example_test.go. The structs it uses are in the other files, and what
// kvgen wrote for them is in the files whose names end in kv.go. Package conduit is the
// backend of a whole site.
package examples

//go:generate go tool kvgen
