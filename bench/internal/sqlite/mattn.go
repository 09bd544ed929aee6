//go:build mattn

package sqlite

import (
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
)

// Here SQLite is the C library used in GORM's guide.
const (
	InC    = true
	Name   = "SQLite in C"
	Module = "github.com/mattn/go-sqlite3"
	Driver = "sqlite3"
)

// Gorm returns GORM's dialect for the file in a DSN.
func Gorm(dsn string) gorm.Dialector { return sqlite.Open(dsn) }

// DSN returns Driver's name for file.
func DSN(file, synchronous string) string {
	return "file:" + file + "?_txlock=immediate&_busy_timeout=10000&_journal_mode=WAL&_fk=1&_cache_size=-65536&_synchronous=" + synchronous
}
