package peers

import (
	"context"
	"database/sql"
	"path/filepath"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
)

// openGormSQLite opens GORM on a file of SQLite in WAL mode.
func openGormSQLite(synchronous string) func(context.Context, Place) (Peer, error) {
	return func(ctx context.Context, at Place) (Peer, error) {
		pool, err := openSQLite(filepath.Join(at.Dir, "gorm-"+synchronous+".db"), synchronous)
		if err != nil {
			return nil, err
		}
		db, err := gorm.Open(sqlite.Dialector{Conn: pool}, gormConfig(false))
		return &gormPeer{db: db, load: loadGorm}, err
	}
}

// openSQLite opens a file of SQLite as its documentation advises for many readers and
// writers: in WAL mode, with writers that take the lock when they begin, and wait for it.
func openSQLite(file, synchronous string) (*sql.DB, error) {
	pool, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"+
		"&_pragma=cache_size(-65536)&_pragma=synchronous("+synchronous+")")
	if err == nil {
		pool.SetMaxOpenConns(32)
		pool.SetMaxIdleConns(32)
	}
	return pool, err
}
