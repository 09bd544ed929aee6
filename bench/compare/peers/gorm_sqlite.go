package peers

import (
	"context"

	"github.com/ringtree/ringtree/bench/compare/place"
)

// openGormSQLite opens GORM on a file of SQLite.
func openGormSQLite(name, synchronous string) func(context.Context, place.Place) (Peer, error) {
	return func(_ context.Context, at place.Place) (Peer, error) {
		db, err := at.GormSQLite(name, synchronous)
		return &gormPeer{db: db, load: loadGorm}, err
	}
}
