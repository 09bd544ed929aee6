//go:build mattn

package sqlite

import (
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
)

// SQLite is the one in C here, which GORM's guide uses.
const (
	InC    = true
	Name   = "SQLite in C"
	Module = "github.com/mattn/go-sqlite3"
	Driver = "sqlite3"
)

// Gorm returns GORM's dialect of the file that a DSN names.
func Gorm(dsn string) gorm.Dialector { return sqlite.Open(dsn) }

// DSN returns the name by which Driver opens file.
func DSN(file, synchronous string) string {
	return "file:" + file + "?_txlock=immediate&_busy_timeout=10000&_journal_mode=WAL&_fk=1&_cache_size=-65536&_synchronous=" + synchronous
}
