//go:build !mattn

package sqlite

import (
	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
)

// Here SQLite is in pure Go, so that the tests need no C compiler. It is too slow for a fair
// comparison: make compare builds with the tag mattn.
const (
	InC    = false
	Name   = "SQLite in Go"
	Module = "github.com/glebarez/go-sqlite"
	Driver = "sqlite"
)

// Gorm returns GORM's dialect for the file in a DSN.
func Gorm(dsn string) gorm.Dialector { return sqlite.Open(dsn) }

// DSN returns Driver's name for file.
func DSN(file, synchronous string) string {
	return "file:" + file + "?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)" +
		"&_pragma=foreign_keys(1)&_pragma=cache_size(-65536)&_pragma=synchronous(" + synchronous + ")"
}
