package place

import (
	"context"
	"net"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
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

func (p Place) dsn(database string) (string, error) {
	host, port, err := net.SplitHostPort(p.Postgres)
	return "host=" + host + " port=" + port + " user=" + postgresUser + " sslmode=disable dbname=" + database, err
}

func (p Place) NewDatabase(ctx context.Context, name string) (string, error) {
	admin, err := p.dsn("postgres")
	if err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	return p.dsn(name)
}

// Pgx opens an empty database, with a connection for each client. With synchronousCommit off, a
// crash loses the last writes.
func Pgx(name, synchronousCommit string) Opener[*pgxpool.Pool] {
	return func(ctx context.Context, p Place) (*pgxpool.Pool, error) {
		dsn, err := p.NewDatabase(ctx, name)
		if err != nil {
			return nil, err
		}
		config, err := pgxpool.ParseConfig(dsn)
		if err != nil {
			return nil, err
		}
		config.MaxConns = Clients
		config.ConnConfig.RuntimeParams["synchronous_commit"] = synchronousCommit
		return pgxpool.NewWithConfig(ctx, config)
	}
}
