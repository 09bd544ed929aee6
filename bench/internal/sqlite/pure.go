//go:build !mattn

package sqlite

import (
	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
)

// SQLite is in pure Go here, so that the tests need no C compiler. It is too slow to be
// compared fairly: make compare builds with the tag mattn.
const (
	InC    = false
	Name   = "SQLite in Go"
	Module = "github.com/glebarez/go-sqlite"
	Driver = "sqlite"
)

// Gorm returns GORM's dialect of the file that a DSN names.
func Gorm(dsn string) gorm.Dialector { return sqlite.Open(dsn) }

// DSN returns the name by which Driver opens file.
func DSN(file, synchronous string) string {
	return "file:" + file + "?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)" +
		"&_pragma=foreign_keys(1)&_pragma=cache_size(-65536)&_pragma=synchronous(" + synchronous + ")"
}
