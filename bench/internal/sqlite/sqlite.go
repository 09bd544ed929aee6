// Package sqlite is the SQLite that ringtree is compared with: the tag mattn selects the C library.
// A file is configured as SQLite's documentation advises for many readers and writers: in WAL mode,
// with writers that take the lock when they begin, and wait for it.
package sqlite
