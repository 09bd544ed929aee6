package peers

import (
	"context"
	"path/filepath"

	"gorm.io/gorm"

	"github.com/ringtree/ringtree/bench/internal/sqlite"
)

// openGormSQLite opens GORM on a file of SQLite.
func openGormSQLite(synchronous string) func(context.Context, Place) (Peer, error) {
	return func(ctx context.Context, at Place) (Peer, error) {
		db, err := gorm.Open(sqlite.Gorm(sqlite.DSN(filepath.Join(at.Dir, "gorm-"+synchronous+".db"), synchronous)), gormConfig(false))
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
