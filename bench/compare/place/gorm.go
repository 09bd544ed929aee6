package place

import (
	"context"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/ringtree/ringtree/bench/internal/sqlite"
)

// GormPostgres opens GORM on an empty database of PostgreSQL.
func (p Place) GormPostgres(ctx context.Context, name string) (*gorm.DB, error) {
	dsn, err := p.NewDatabase(ctx, name)
	if err != nil {
		return nil, err
	}
	return openGorm(postgres.Open(dsn))
}

// GormSQLite opens GORM on a file of SQLite, with a connection for each client.
func (p Place) GormSQLite(file, synchronous string) (*gorm.DB, error) {
	db, err := openGorm(sqlite.Gorm(sqlite.DSN(filepath.Join(p.Dir, file), synchronous)))
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(Clients)
	pool.SetMaxIdleConns(Clients)
	return db, nil
}

// openGorm opens GORM with its defaults.
func openGorm(dialect gorm.Dialector) (*gorm.DB, error) {
	return gorm.Open(dialect, &gorm.Config{Logger: logger.Discard, TranslateError: true})
}

// OnConn calls f with a connection of GORM on PostgreSQL, for COPY, which GORM does not support.
func OnConn(ctx context.Context, db *gorm.DB, f func(*pgx.Conn) error) error {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(driver any) error { return f(driver.(*stdlib.Conn).Conn()) })
}
