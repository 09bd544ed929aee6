package peers

import (
	"context"
	"path/filepath"

	"gorm.io/gorm"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/bench/internal/sqlite"
)

// openGormSQLite opens GORM on a file of SQLite.
func openGormSQLite(name, synchronous string) func(context.Context, place.Place) (Peer, error) {
	return func(ctx context.Context, at place.Place) (Peer, error) {
		db, err := gorm.Open(sqlite.Gorm(sqlite.DSN(filepath.Join(at.Dir, name), synchronous)), gormConfig())
		if err != nil {
			return nil, err
		}
		pool, err := db.DB()
		if err != nil {
			return nil, err
		}
		pool.SetMaxOpenConns(place.Clients)
		pool.SetMaxIdleConns(place.Clients)
		return &gormPeer{db: db, load: loadGorm}, nil
	}
}
