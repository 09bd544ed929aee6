//go:build mattn

package peers

import (
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
)

// SQLite is the one in C here, which GORM's and ent's guides use.
const (
	SQLiteInC = true

	sqliteModule = "github.com/mattn/go-sqlite3"
	sqliteDriver = "sqlite3"
)

func gormSQLite(dsn string) gorm.Dialector { return sqlite.Open(dsn) }

func sqliteDSN(file, synchronous string) string {
	return "file:" + file + "?_txlock=immediate&_busy_timeout=10000&_journal_mode=WAL&_fk=1&_cache_size=-65536&_synchronous=" + synchronous
}
