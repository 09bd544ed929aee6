// Package nearkv caches items that a process has read from a store, so that frequently viewed pages
// take no trip.
//
// It answers only gets that allow it ([kv.Op].Near): reads for display, and the first try of a
// change, which the store refuses if the record has changed. An answer may be out of date by a
// flight, but is never older than one this process has seen or written.
//
// If the store announces its keys, nearkv also recognizes absent ones, for gets that allow it
// ([kv.Op].Sparse): an item stored by another process a flight ago may be missing.
//
// With a store that does not report changes, an answer is valid for Options.Age.
package nearkv
