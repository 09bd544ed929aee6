package site

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ringtree/ringtree/bench/compare/place"
)

type pgxDatabase struct{ pool *pgxpool.Pool }

func onPgx(name, synchronousCommit string) place.Opener[database] {
	return place.Over(place.Pgx(name, synchronousCommit), func(pool *pgxpool.Pool) database { return pgxDatabase{pool} })
}

func (d pgxDatabase) close() error { d.pool.Close(); return nil }

func (d pgxDatabase) read(ctx context.Context, queries ...query) error {
	if len(queries) == 1 {
		// The rows have the error of Query, too.
		rows, _ := d.pool.Query(ctx, queries[0].sql, queries[0].args...)
		return eachRow(rows, queries[0].row)
	}
	return d.write(ctx, queries...)
}

// write sends all at once, as one transaction.
func (d pgxDatabase) write(ctx context.Context, statements ...query) error {
	var all pgx.Batch
	for _, q := range statements {
		queued := all.Queue(q.sql, q.args...)
		if q.row != nil {
			queued.Query(func(rows pgx.Rows) error { return eachRow(rows, q.row) })
		}
	}
	return taken(d.pool.SendBatch(ctx, &all).Close())
}

func eachRow(rows pgx.Rows, f func(scan func(...any) error) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func taken(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "23505" {
		return errTaken
	}
	return err
}

type pgxTx struct{ pgx.Tx }

func (tx pgxTx) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	done, err := tx.Exec(ctx, sql, args...)
	return done.RowsAffected(), err
}

func (tx pgxTx) get(ctx context.Context, statement string, args []any, to ...any) (found bool, err error) {
	rows, _ := tx.Query(ctx, statement, args...)
	err = eachRow(rows, func(scan func(...any) error) error {
		found = true
		return scan(to...)
	})
	return found, err
}

func (d pgxDatabase) change(ctx context.Context, f func(tx transaction) error) error {
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error { return f(pgxTx{tx}) })
}

func (d pgxDatabase) load(ctx context.Context, schema string, tables ...place.Table) error {
	return d.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return place.CopyAll(ctx, conn.Conn(), schema, tables) })
}
