package place

import (
	"context"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

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
