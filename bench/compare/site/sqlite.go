package site

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/bench/internal/sqlite"
)

// sqliteDatabase prepares each statement once. Writers wait for each other here; in SQLite they
// would sleep and try again.
type sqliteDatabase struct {
	db       *sql.DB
	prepared sync.Map // *sql.Stmt, by the statement
	writing  sync.Mutex
}

func onSQLite(name, synchronous string) place.Opener[database] {
	return func(_ context.Context, at place.Place) (database, error) {
		db, err := sql.Open(sqlite.Driver, sqlite.DSN(filepath.Join(at.Dir, name), synchronous))
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(place.Clients)
		db.SetMaxIdleConns(place.Clients)
		return &sqliteDatabase{db: db}, nil
	}
}

func (d *sqliteDatabase) close() error { return d.db.Close() }

func numbered(statement string) string { return strings.ReplaceAll(statement, "$", "?") }

func (d *sqliteDatabase) prepare(ctx context.Context, statement string) (*sql.Stmt, error) {
	if s, ok := d.prepared.Load(statement); ok {
		return s.(*sql.Stmt), nil
	}
	s, err := d.db.PrepareContext(ctx, numbered(statement))
	if err != nil {
		return nil, err
	}
	if first, was := d.prepared.LoadOrStore(statement, s); was {
		return first.(*sql.Stmt), s.Close()
	}
	return s, nil
}

func (d *sqliteDatabase) read(ctx context.Context, queries ...query) error {
	return d.each(ctx, queries, func(s *sql.Stmt) *sql.Stmt { return s })
}

func (d *sqliteDatabase) each(ctx context.Context, queries []query, in func(*sql.Stmt) *sql.Stmt) error {
	for _, q := range queries {
		s, err := d.prepare(ctx, q.sql)
		if err != nil {
			return err
		}
		if err := run(ctx, in(s), q); err != nil {
			return err
		}
	}
	return nil
}

func run(ctx context.Context, s *sql.Stmt, q query) error {
	if q.row == nil {
		_, err := s.ExecContext(ctx, q.args...)
		return err
	}
	rows, err := s.QueryContext(ctx, q.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := q.row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (d *sqliteDatabase) write(ctx context.Context, statements ...query) error {
	err := d.inTx(ctx, func(tx *sql.Tx) error {
		return d.each(ctx, statements, func(s *sql.Stmt) *sql.Stmt { return tx.StmtContext(ctx, s) })
	})
	if err != nil && strings.Contains(err.Error(), "UNIQUE constraint") {
		return errTaken
	}
	return err
}

func (d *sqliteDatabase) inTx(ctx context.Context, f func(tx *sql.Tx) error) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

type sqliteTx struct {
	*sqliteDatabase
	tx *sql.Tx
}

func (t sqliteTx) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	s, err := t.prepare(ctx, statement)
	if err != nil {
		return 0, err
	}
	done, err := t.tx.StmtContext(ctx, s).ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

func (t sqliteTx) get(ctx context.Context, statement string, args []any, to ...any) (bool, error) {
	s, err := t.prepare(ctx, statement)
	if err != nil {
		return false, err
	}
	err = t.tx.StmtContext(ctx, s).QueryRowContext(ctx, args...).Scan(to...)
	if err == sql.ErrNoRows {
		return false, nil
	}
	return err == nil, err
}

func (d *sqliteDatabase) change(ctx context.Context, f func(tx transaction) error) error {
	return d.inTx(ctx, func(tx *sql.Tx) error { return f(sqliteTx{d, tx}) })
}

func (d *sqliteDatabase) load(ctx context.Context, schema string, tables ...place.Table) error {
	return place.InsertAll(ctx, d.db, schema, tables)
}
