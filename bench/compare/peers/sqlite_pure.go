//go:build !mattn

package peers

import (
	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
)

// SQLite is in pure Go here, so that the tests need no C compiler. It is too slow to be
// compared: make compare builds with the tag mattn.
const (
	SQLiteInC = false

	sqliteModule = "github.com/glebarez/go-sqlite"
	sqliteDriver = "sqlite"
)

func gormSQLite(dsn string) gorm.Dialector { return sqlite.Open(dsn) }

func sqliteDSN(file, synchronous string) string {
	return "file:" + file + "?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)" +
		"&_pragma=foreign_keys(1)&_pragma=cache_size(-65536)&_pragma=synchronous(" + synchronous + ")"
}
