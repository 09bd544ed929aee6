// Package kvopen opens a database, or a bare store, from the store's URL, so
// that an app can choose its store by configuration.
//
//	mem:                                   in memory, lost with the process
//	bolt:PATH                              embedded, one file
//	memcached://HOST:PORT,HOST:PORT        memcached servers
//	redis://USER:PASSWORD@HOST:PORT/DB     one Redis or Valkey server
//	redis-cluster://HOST:PORT,HOST:PORT    some nodes of a cluster
//
// A missing port means the usual one, and no hosts at all mean this machine.
// Options follow a question mark, as in bolt:app.db?durability=periodic;
// docs/stores.md lists them. In a user name or a password, write the bytes % @ ?
// as in any URL: %25 %40 %3F.
//
// To configure what a URL cannot express, use a backend's own constructor.
package kvopen

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// scheme is one kind of store a URL can name.
type scheme struct {
	name string
	form string // what its URLs look like, for error messages
	open func(ctx context.Context, rest string, opts *options) (kv.Store, error)
}

var schemes = []scheme{
	{"mem", "mem:", openMem},
	{"bolt", "bolt:PATH", openBolt},
	{"memcached", "memcached://HOST:PORT,HOST:PORT", openMemcached},
	{"redis", "redis://USER:PASSWORD@HOST:PORT/DB", openRedis},
	{"redis-cluster", "redis-cluster://USER:PASSWORD@HOST:PORT,HOST:PORT", openRedisCluster},
}

// Open returns the database in the store that url names. Closing the database
// closes the store. Errors are those of Store and of kvmodel.Open.
func Open(ctx context.Context, url string, opts ...kvmodel.Option) (*kvmodel.DB, error) {
	s, err := Store(ctx, url)
	if err != nil {
		return nil, err
	}
	db, err := kvmodel.Open(s, opts...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("kvopen: %w", err), s.Close())
	}
	return db, nil
}

// Store opens the store that url names. An error says what is wrong with the
// URL, or why the store could not be opened, and never shows a password.
func Store(ctx context.Context, url string) (kv.Store, error) {
	s, rest, opts, err := parse(url)
	if err != nil {
		return nil, fmt.Errorf("kvopen: %w", err)
	}
	store, err := s.open(ctx, rest, opts)
	if err != nil {
		return nil, fmt.Errorf("kvopen: %s URL: %w", s.name, err)
	}
	return store, nil
}

var schemeName = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

// parse splits a URL into its scheme, its options, and the rest between them.
// Its errors show no part of the URL that could be a password.
func parse(text string) (s scheme, rest string, opts *options, err error) {
	name, rest, ok := strings.Cut(text, ":")
	if !ok || !schemeName.MatchString(name) {
		return s, "", nil, fmt.Errorf("not a store URL: it must start with one of %s", forms())
	}
	if s, err = find(name); err != nil {
		return s, "", nil, err
	}
	rest, query, _ := strings.Cut(rest, "?")
	if strings.Contains(query, "@") {
		return s, "", nil, fmt.Errorf("%s URL: an @ after the question mark; write ? in a password as %%3F", name)
	}
	given, err := url.ParseQuery(query)
	if err != nil {
		return s, "", nil, fmt.Errorf("%s URL: options: %w", name, err)
	}
	return s, rest, &options{given: given}, nil
}

func find(name string) (scheme, error) {
	var names []string
	for _, s := range schemes {
		if s.name == name {
			return s, nil
		}
		names = append(names, s.name)
	}
	return scheme{}, fmt.Errorf("unknown scheme %q%s; a store URL is one of %s", name, suggest(name, names), forms())
}

func forms() string {
	var all []string
	for _, s := range schemes {
		all = append(all, s.form)
	}
	return strings.Join(all, ", ")
}

func openMem(_ context.Context, rest string, opts *options) (kv.Store, error) {
	if rest != "" {
		return nil, errors.New("nothing may follow the colon")
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	return memkv.New(memkv.Options{}), nil
}
