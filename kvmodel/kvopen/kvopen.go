// Package kvopen opens a database, or a bare store, from the store's URL, so that an app can choose
// its store by configuration.
//
//	mem:                                   in memory, lost with the process
//	bolt:PATH                              embedded, one file
//
// These two are built in. Stores on servers need an engine, passed like an option, so that a
// program links only the clients it may use:
//
//	db, err := kvopen.Open(ctx, url, rediskv.Engine)
//
//	memcachekv.Engine
//	memcached://HOST:PORT,HOST:PORT        memcached servers
//
//	rediskv.Engine
//	redis://USER:PASSWORD@HOST:PORT/DB     one Redis or Valkey server
//	redis-cluster://HOST:PORT,HOST:PORT    some nodes of a cluster
//	redis-sentinel://HOST:PORT/MASTER      the master, according to the sentinels
//	rediss://, rediss-cluster://, rediss-sentinel://   the same with TLS
//
// Package kvopen/all has all engines as one.
//
// A missing port means the default one, and no hosts at all mean this machine. Options follow a
// question mark, as in bolt:app.db?durability=periodic or rediss://HOST?durable=1&ca=ca.pem;
// docs/file.md, redis.md and memcached.md list them. In a user name or a password, write the bytes
// % @ ? as in any URL: %25 %40 %3F, and in an option also & + ; as %26 %2B %3B.
//
// For settings that a URL cannot express, use a backend's own constructor.
package kvopen

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/ringtree/ringtree/internal/storeurl"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// An Option is a [kv.Engine] or a [kvmodel.Option].
type Option interface{ OpenOption() }

// Open returns the database in the store at url. Closing the database closes the store.
func Open(ctx context.Context, url string, opts ...Option) (*kvmodel.DB, error) {
	var engines []kv.Engine
	var rest []kvmodel.Option
	for _, opt := range opts {
		switch opt := opt.(type) {
		case kv.Engine:
			engines = append(engines, opt)
		case kvmodel.Option:
			rest = append(rest, opt)
		default:
			return nil, fmt.Errorf("kvopen: a %T is not an option of Open", opt)
		}
	}
	s, err := Store(ctx, url, engines...)
	if err != nil {
		return nil, err
	}
	db, err := kvmodel.Open(s, rest...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("kvopen: %w", err), s.Close())
	}
	return db, nil
}

// Store opens the store at url. Its errors never show a password.
func Store(ctx context.Context, url string, engines ...kv.Engine) (kv.Store, error) {
	scheme, rest, options, err := parse(url, engines)
	if err != nil {
		return nil, fmt.Errorf("kvopen: %w", err)
	}
	store, err := scheme.Open(ctx, rest, options)
	if err != nil {
		return nil, fmt.Errorf("kvopen: %s URL: %w", scheme.Name, err)
	}
	return store, nil
}

var own = kv.Engine{
	{Name: "mem", Form: "mem:", Open: openMem},
	{Name: "bolt", Form: "bolt:PATH", Open: openBolt},
}

const memCache = 64 << 20

func openMem(_ context.Context, rest string, options url.Values) (kv.Store, error) {
	if rest != "" {
		return nil, errors.New("nothing may follow the colon")
	}
	if err := storeurl.New(options).Check(); err != nil {
		return nil, err
	}
	return memkv.New(memkv.Options{Local: true, Cache: memCache}), nil
}
