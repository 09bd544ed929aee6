package main

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/ringtree/ringtree/bench/internal/sqlite"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// sqliteTable is a table of keys and values in a file of SQLite. Each client has a
// connection and prepared statements of its own. Writers wait for each other here, since
// in SQLite they would sleep and try again.
type sqliteTable struct {
	ctx     context.Context
	db      *sql.DB
	clients []sqliteClient
	writing sync.Mutex
}

type sqliteClient struct {
	conn                  *sql.Conn
	begin, insert, commit *sql.Stmt
}

// openSQLite makes such a file. PRAGMA synchronous is FULL or NORMAL.
func openSQLite(ctx context.Context, file, synchronous string, clients int) (*sqliteTable, error) {
	db, err := sql.Open(sqlite.Driver, sqlite.DSN(file, synchronous))
	if err != nil {
		return nil, err
	}
	t := &sqliteTable{ctx: ctx, db: db, clients: make([]sqliteClient, clients)}
	if _, err := db.ExecContext(ctx, "CREATE TABLE kv(k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID"); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	for i := range t.clients {
		if err := t.clients[i].open(ctx, db); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return t, nil
}

func (c *sqliteClient) open(ctx context.Context, db *sql.DB) (err error) {
	if c.conn, err = db.Conn(ctx); err != nil {
		return err
	}
	for _, s := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&c.begin, "BEGIN IMMEDIATE"},
		{&c.insert, "INSERT OR REPLACE INTO kv(k, v) VALUES(?, ?)"},
		{&c.commit, "COMMIT"},
	} {
		if *s.stmt, err = c.conn.PrepareContext(ctx, s.text); err != nil {
			return err
		}
	}
	return nil
}

// put puts what ops set into the table, in one transaction.
func (t *sqliteTable) put(client int, ops []kv.Op) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	c := &t.clients[client]
	_, err := c.begin.ExecContext(t.ctx)
	for i := 0; i < len(ops) && err == nil; i++ {
		_, err = c.insert.ExecContext(t.ctx, []byte(ops[i].Key), ops[i].Value)
	}
	if err == nil {
		_, err = c.commit.ExecContext(t.ctx)
	}
	return err
}

func (t *sqliteTable) close() error {
	var errs []error
	for _, c := range t.clients {
		errs = append(errs, c.conn.Close())
	}
	return errors.Join(append(errs, t.db.Close())...)
}
