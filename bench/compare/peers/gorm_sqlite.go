package peers

import (
	"context"
	"path/filepath"

	"gorm.io/gorm"
)

// openGormSQLite opens GORM on a file of SQLite, set up as its documentation advises for
// many readers and writers: in WAL mode, with writers that take the lock when they begin,
// and wait for it.
func openGormSQLite(synchronous string) func(context.Context, Place) (Peer, error) {
	return func(ctx context.Context, at Place) (Peer, error) {
		db, err := gorm.Open(gormSQLite(sqliteDSN(filepath.Join(at.Dir, "gorm-"+synchronous+".db"), synchronous)), gormConfig(false))
		if err != nil {
			return nil, err
		}
		pool, err := db.DB()
		if err != nil {
			return nil, err
		}
		pool.SetMaxOpenConns(Clients)
		pool.SetMaxIdleConns(Clients)
		return &gormPeer{db: db, load: loadGorm}, nil
	}
}
