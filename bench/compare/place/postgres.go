package place

import (
	"context"
	"net"

	"github.com/jackc/pgx/v5"
)

// dsn returns the connection string of a database of the server.
func (p Place) dsn(database string) (string, error) {
	host, port, err := net.SplitHostPort(p.Postgres)
	return "host=" + host + " port=" + port + " user=" + postgresUser + " sslmode=disable dbname=" + database, err
}

// NewDatabase makes an empty database, and returns its connection string.
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
