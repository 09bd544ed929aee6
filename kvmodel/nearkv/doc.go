// Package nearkv caches items that a process has read from a store, so that frequently viewed pages
// take no trip.
//
// It answers only gets that ask for it ([kv.Op].Near): reads for display, and the first try of a
// change, which the store refuses if the record is no longer so. Such a get may show what was
// current a flight ago, never anything older than this process has already seen or written.
//
// If the store announces its keys, nearkv also knows absent ones, for gets that allow it
// ([kv.Op].Sparse): an item that another process stored a flight ago may be missing there.
//
// With a store that does not report changes, an answer is valid for Options.Age.
package nearkv
