package place

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

type Database struct {
	*kvmodel.DB
	url     string
	options []kvmodel.Option
}

// Ringtree fills in url by [Place.Fill].
func Ringtree(url string, options ...kvmodel.Option) Opener[*Database] {
	return func(ctx context.Context, p Place) (*Database, error) {
		d := &Database{url: p.Fill(url), options: options}
		return d, d.open(ctx, d.url)
	}
}

// OnStores returns the kinds on ringtree's stores. Files begin with name; redis and near are
// databases of Redis.
func OnStores[T any](name string, redis, near int, open func(url string) Opener[T]) []Kind[T] {
	file := func(durability string) Opener[T] {
		return open(fmt.Sprintf("bolt:%%s/%s-%s.db?durability=%[2]s", name, durability))
	}
	return []Kind[T]{
		{Name: "ringtree-file", Durable: Nothing, File: name + "-synced", Open: file("synced")},
		{Name: "ringtree-file-periodic", Durable: LastWrites, File: name + "-periodic", Open: file("periodic")},
		{Name: "ringtree-memory", Durable: Everything, Open: open("mem:")},
		{Name: "ringtree-redis", Server: Redis, Durable: Everything, Open: open(fmt.Sprintf("redis://%%redis/%d", redis))},
		{Name: "ringtree-redis-near", Server: Redis, Durable: Everything, Open: open(fmt.Sprintf("redis://%%redis/%d?near=256MB", near))},
		{Name: "ringtree-memcached", Server: Memcached, Durable: Everything, Open: open("memcached://%memcached")},
	}
}

func (d *Database) Close() error { return d.DB.Close(context.Background()) }

func (d *Database) open(ctx context.Context, url string) error {
	store, err := kvopen.Store(ctx, url, all.Engines)
	if err == nil {
		d.DB, err = kvmodel.Open(store, d.options...)
	}
	return err
}

// Load does not sync a file. If another file was filled in the same way, it is copied instead.
// opened is called whenever the database is opened.
func (d *Database) Load(ctx context.Context, opened func(), load func() error) error {
	file, isFile := strings.CutPrefix(d.url, "bolt:")
	if !isFile {
		opened()
		return load()
	}
	file, _, _ = strings.Cut(file, "?")
	if err := d.Close(); err != nil {
		return err
	}
	filled := strings.TrimSuffix(file, ".db") // without the part that distinguishes it
	filled = filled[:strings.LastIndexByte(filled, '-')] + ".filled"
	if _, err := os.Stat(filled); errors.Is(err, os.ErrNotExist) {
		if err := d.open(ctx, "bolt:"+filled+"?durability=unsynced"); err != nil {
			return err
		}
		opened()
		if err := errors.Join(load(), d.Close()); err != nil {
			return err
		}
	}
	if err := copyFile(file, filled); err != nil {
		return err
	}
	if err := d.open(ctx, d.url); err != nil {
		return err
	}
	opened()
	return nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
