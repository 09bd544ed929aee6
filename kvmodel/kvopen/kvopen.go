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
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/storeurl"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
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

// parse splits a URL into its scheme, the rest, and its options. Its errors show no part that could
// be a password.
func parse(text string, engines []kv.Engine) (s kv.Scheme, rest string, options url.Values, err error) {
	schemes := slices.Concat(append([]kv.Engine{own}, engines...)...)
	name, rest, ok := strings.Cut(text, ":")
	if !ok || !isName(name) {
		return s, "", nil, fmt.Errorf("not a store URL: it must start with one of %s", forms(schemes))
	}
	if s, err = find(name, schemes); err != nil {
		return s, "", nil, err
	}
	rest, query, _ := strings.Cut(rest, "?")
	if strings.Contains(query, "@") {
		return s, "", nil, fmt.Errorf("%s URL: an @ after the question mark; write ? in a password as %%3F", name)
	}
	options, err = url.ParseQuery(query)
	if err != nil {
		// The error may contain a part of a password.
		return s, "", nil, fmt.Errorf("%s URL: options: write %% as %%25 and ; as %%3B", name)
	}
	return s, rest, options, nil
}

func isName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	return strings.Trim(name, letters+"0123456789+.-") == "" && strings.IndexAny(name, letters) == 0
}

// missing are the schemes of this module's engines.
var missing = []struct{ backend, scheme, form string }{
	{"memcachekv", "memcached", "memcached://HOST:PORT,HOST:PORT"},
	{"rediskv", "redis", "redis://USER:PASSWORD@HOST:PORT/DB"},
	{"rediskv", "redis-cluster", "redis-cluster://USER:PASSWORD@HOST:PORT,HOST:PORT"},
	{"rediskv", "redis-sentinel", "redis-sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER/DB"},
	{"rediskv", "rediss", "rediss://USER:PASSWORD@HOST:PORT/DB"},
	{"rediskv", "rediss-cluster", "rediss-cluster://USER:PASSWORD@HOST:PORT,HOST:PORT"},
	{"rediskv", "rediss-sentinel", "rediss-sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER/DB"},
}

func find(name string, schemes []kv.Scheme) (kv.Scheme, error) {
	var names []string
	for _, s := range schemes {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	for _, m := range missing {
		if m.scheme == name {
			return kv.Scheme{}, fmt.Errorf("%s URL: the program has no engine for it: import %q and give %s.Engine to Open or Store, or all.Engines of %q",
				name, "github.com/ringtree/ringtree/kvmodel/"+m.backend, m.backend, "github.com/ringtree/ringtree/kvmodel/kvopen/all")
		}
		names = append(names, m.scheme)
	}
	return kv.Scheme{}, fmt.Errorf("unknown scheme %q%s; a store URL is one of %s", name, storeurl.Suggest(name, names), forms(schemes))
}

func forms(schemes []kv.Scheme) string {
	var all []string
	for _, s := range schemes {
		all = append(all, s.Form)
	}
	for _, m := range missing {
		if !slices.Contains(all, m.form) {
			all = append(all, m.form)
		}
	}
	return strings.Join(all, ", ")
}

func openBolt(ctx context.Context, path string, options url.Values) (kv.Store, error) {
	durabilities := []boltkv.Durability{boltkv.Synced, boltkv.Periodic, boltkv.Unsynced}
	var names []string
	for _, d := range durabilities {
		names = append(names, d.String())
	}
	given := storeurl.New(options)
	settings := boltkv.Options{Durability: durabilities[given.Choice("durability", names...)]}
	settings.Cache = given.Cache()
	ship, _ := given.Text("ship", "DIR")
	if err := given.Check(); err != nil {
		return nil, err
	}
	switch {
	case path == "":
		return nil, errors.New("the file's path is missing: bolt:PATH")
	case strings.HasPrefix(path, "//"):
		return nil, errors.New("a path does not begin with two slashes: write bolt:dir/file, or bolt:/dir/file from the root")
	}
	s, err := boltkv.Open(path, settings)
	if err != nil || ship == "" {
		return s, err
	}
	if err := startShipping(ctx, s, boltkv.Dir(ship)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// shipWait is how long opening waits for the folder.
const shipWait = 2 * time.Second

func startShipping(ctx context.Context, s *boltkv.Store, to boltkv.Folder) error {
	ended := make(chan error, 1)
	go func() { ended <- s.Ship(context.WithoutCancel(ctx), to) }()
	for began := time.Now(); ; {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
		if known := s.Stats().Shipping.Known; !known && time.Since(began) < shipWait {
			continue
		}
		go func() {
			if err := <-ended; err != nil {
				slog.Error("ringtree: shipping of the store has stopped", "err", err)
			}
		}()
		return nil
	}
}

// VerifyBackup is [boltkv.VerifyBackup].
func VerifyBackup(ctx context.Context, r io.Reader) (boltkv.Snapshot, error) {
	return boltkv.VerifyBackup(ctx, r)
}

// RestoreBackup is [boltkv.RestoreBackup].
func RestoreBackup(ctx context.Context, r io.Reader, path string) (boltkv.Snapshot, error) {
	return boltkv.RestoreBackup(ctx, r, path)
}

// RestoreShipped is [boltkv.Restore] from a directory.
func RestoreShipped(ctx context.Context, dir string, until time.Time, path string) (boltkv.Restored, error) {
	return boltkv.Restore(ctx, boltkv.Dir(dir), until, path)
}

// Compact is [boltkv.Compact].
func Compact(path string) (boltkv.Compaction, error) { return boltkv.Compact(path) }
