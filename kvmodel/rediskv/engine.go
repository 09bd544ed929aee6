package rediskv

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/ringtree/ringtree/internal/storeurl"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

// Engine opens stores on Redis and Valkey from their URLs, for package kvopen.
var Engine = kv.Engine{
	{Name: "redis", Form: "redis://USER:PASSWORD@HOST:PORT/DB", Open: openServer},
	{Name: "redis-cluster", Form: "redis-cluster://USER:PASSWORD@HOST:PORT,HOST:PORT", Open: openCluster},
}

func openServer(ctx context.Context, rest string, options url.Values) (kv.Store, error) {
	opts, near, path, err := fromURL(rest, options)
	if err != nil {
		return nil, err
	}
	if len(opts.Addrs) > 1 {
		return nil, errors.New("it must name one server; a cluster is redis-cluster://HOST:PORT,HOST:PORT")
	}
	if path != "" {
		if opts.DB, err = strconv.Atoi(path); err != nil || opts.DB < 0 {
			return nil, fmt.Errorf("database %q is not a number from 0", path)
		}
	}
	return openNear(ctx, opts, near)
}

func openCluster(ctx context.Context, rest string, options url.Values) (kv.Store, error) {
	opts, near, path, err := fromURL(rest, options)
	if err != nil {
		return nil, err
	}
	if path != "" {
		return nil, errors.New("a cluster has no databases: only options may follow the hosts")
	}
	return openNear(ctx, opts, near)
}

// openNear opens a store that keeps what it reads as near says.
func openNear(ctx context.Context, opts Options, near nearkv.Options) (kv.Store, error) {
	opts.Track = near.Bytes > 0 && near.Age == 0
	s, err := Open(ctx, opts)
	if err != nil {
		return nil, err
	}
	return storeurl.Keep(s, near)
}

// fromURL returns what the URLs of a server and of a cluster have in common, and what
// follows the hosts.
func fromURL(rest string, options url.Values) (opts Options, near nearkv.Options, path string, err error) {
	given := storeurl.New(options)
	opts = Options{
		Patience:     given.Duration("patience"),
		WaitReplicas: given.Number("wait-replicas", 0, 100),
		WaitTimeout:  given.Duration("wait-timeout"),
	}
	near = given.Near("SIZE", false)
	if given.Choice("tls", "off", "on") == 1 {
		opts.TLS = new(tls.Config)
	}
	if err := given.Check(); err != nil {
		return opts, near, "", err
	}
	a, err := storeurl.ParseAddress(rest, "6379")
	opts.Addrs, opts.Username, opts.Password = a.Hosts, a.User, a.Password
	return opts, near, a.Path, err
}
