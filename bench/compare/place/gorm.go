package place

import (
	"context"
	"path/filepath"

	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/ringtree/ringtree/bench/internal/sqlite"
)

type Gorm struct{ *gorm.DB }

func GormPostgres(name string) Opener[Gorm] {
	return func(ctx context.Context, p Place) (Gorm, error) {
		dsn, err := p.NewDatabase(ctx, name)
		if err != nil {
			return Gorm{}, err
		}
		return openGorm(postgres.Open(dsn))
	}
}

func GormSQLite(file, synchronous string) Opener[Gorm] {
	return func(_ context.Context, p Place) (Gorm, error) {
		g, err := openGorm(sqlite.Gorm(sqlite.DSN(filepath.Join(p.Dir, file), synchronous)))
		if err != nil {
			return g, err
		}
		pool, err := g.DB.DB()
		if err != nil {
			return g, err
		}
		pool.SetMaxOpenConns(Clients)
		pool.SetMaxIdleConns(Clients)
		return g, nil
	}
}

func openGorm(dialect gorm.Dialector) (Gorm, error) {
	db, err := gorm.Open(dialect, &gorm.Config{Logger: logger.Discard, TranslateError: true})
	return Gorm{db}, err
}

// Fill is faster than GORM.
func (g Gorm) Fill(ctx context.Context, schema string, tables []Table) error {
	pool, err := g.DB.DB()
	if err != nil {
		return err
	}
	if g.Name() != "postgres" {
		return InsertAll(ctx, pool, schema, tables)
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(driver any) error {
		return CopyAll(ctx, driver.(*stdlib.Conn).Conn(), schema, tables)
	})
}

func (g Gorm) Close() error {
	pool, err := g.DB.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

func (g Gorm) Flush(context.Context) error { return nil }
