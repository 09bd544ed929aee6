package site

import "github.com/ringtree/ringtree/bench/compare/place"

// Forums are the peers with a forum, ringtree's stores last.
var Forums = []place.Kind[Forum]{
	{Name: "pgx", Server: place.Postgres, Durable: place.Nothing, Open: openForumPgx("pgx_forum", "on")},
	{Name: "pgx-async", Server: place.Postgres, Durable: place.LastWrites, Open: openForumPgx("pgx_async_forum", "off")},
	{Name: "sqlite-full", Durable: place.Nothing, File: "forum-sqlite-full", Open: openForumSQLite("forum-sqlite-full.db", "FULL")},
	{Name: "sqlite", Durable: place.LastWrites, File: "forum-sqlite-normal", Open: openForumSQLite("forum-sqlite-normal.db", "NORMAL")},
	{Name: "ringtree-file", Durable: place.Nothing, File: "forum-synced", Open: openForumRingtree("bolt:%s/forum-synced.db?durability=synced")},
	{Name: "ringtree-file-periodic", Durable: place.LastWrites, File: "forum-periodic", Open: openForumRingtree("bolt:%s/forum-periodic.db?durability=periodic")},
	{Name: "ringtree-file-relaxed", Durable: place.LastWrites, File: "forum-relaxed", Open: openForumRelaxed("bolt:%s/forum-relaxed.db?durability=synced")},
	{Name: "ringtree-memory", Durable: place.Everything, Open: openForumRingtree("mem:")},
	{Name: "ringtree-redis", Server: place.Redis, Durable: place.Everything, Open: openForumRingtree("redis://%redis/5")},
	{Name: "ringtree-redis-near", Server: place.Redis, Durable: place.Everything, Open: openForumRingtree("redis://%redis/6?near=256MB")},
	{Name: "ringtree-memcached", Server: place.Memcached, Durable: place.Everything, Open: openForumRingtree("memcached://%memcached")},
}
