package site

import "github.com/ringtree/ringtree/bench/compare/place"

// All are the peers, ringtree's stores last.
var All = []place.Kind[Site]{
	{Name: "gorm-postgres", Server: place.Postgres, Durable: place.Nothing, Open: openGormPostgres},
	{Name: "gorm-sqlite-full", Durable: place.Nothing, File: "gorm-site-full", Open: openGormSQLite("gorm-site-full.db", "FULL")},
	{Name: "gorm-sqlite", Durable: place.LastWrites, File: "gorm-site-normal", Open: openGormSQLite("gorm-site-normal.db", "NORMAL")},
	{Name: "pgx", Server: place.Postgres, Durable: place.Nothing, Open: openPgx("pgx_site", "on")},
	{Name: "pgx-async", Server: place.Postgres, Durable: place.LastWrites, Open: openPgx("pgx_async_site", "off")},
	{Name: "sqlite-full", Durable: place.Nothing, File: "sqlite-full", Open: openSQLite("sqlite-full.db", "FULL")},
	{Name: "sqlite", Durable: place.LastWrites, File: "sqlite-normal", Open: openSQLite("sqlite-normal.db", "NORMAL")},
	{Name: "ringtree-file", Durable: place.Nothing, File: "site-synced", Open: openRingtree("bolt:%s/site-synced.db?durability=synced")},
	{Name: "ringtree-file-periodic", Durable: place.LastWrites, File: "site-periodic", Open: openRingtree("bolt:%s/site-periodic.db?durability=periodic")},
	{Name: "ringtree-memory", Durable: place.Everything, Open: openRingtree("mem:")},
	{Name: "ringtree-redis", Server: place.Redis, Durable: place.Everything, Open: openRingtree("redis://%redis/3")},
	{Name: "ringtree-redis-near", Server: place.Redis, Durable: place.Everything, Open: openRingtree("redis://%redis/4?near=256MB")},
	{Name: "ringtree-memcached", Server: place.Memcached, Durable: place.Everything, Open: openRingtree("memcached://%memcached")},
}
