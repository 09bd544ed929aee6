package kvopen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

func openRedis(ctx context.Context, rest string, opts *options) (kv.Store, error) {
	settings, near, path, err := redisSettings(rest, opts)
	if err != nil {
		return nil, err
	}
	if len(settings.Addrs) > 1 {
		return nil, errors.New("it must name one server; a cluster is redis-cluster://HOST:PORT,HOST:PORT")
	}
	if path != "" {
		if settings.DB, err = strconv.Atoi(path); err != nil || settings.DB < 0 {
			return nil, fmt.Errorf("database %q is not a number from 0", path)
		}
	}
	return openNearRedis(ctx, settings, near)
}

func openRedisCluster(ctx context.Context, rest string, opts *options) (kv.Store, error) {
	settings, near, path, err := redisSettings(rest, opts)
	if err != nil {
		return nil, err
	}
	if path != "" {
		return nil, errors.New("a cluster has no databases: only options may follow the hosts")
	}
	return openNearRedis(ctx, settings, near)
}

// openNearRedis opens a store that keeps what it reads as near says.
func openNearRedis(ctx context.Context, settings rediskv.Options, near nearkv.Options) (kv.Store, error) {
	settings.Track = near.Bytes > 0 && near.Age == 0
	s, err := rediskv.Open(ctx, settings)
	if err != nil {
		return nil, err
	}
	return nearTo(s, near)
}

// redisSettings returns the settings that the URLs of a server and of a cluster
// have in common, and what follows the hosts.
func redisSettings(rest string, opts *options) (settings rediskv.Options, near nearkv.Options, path string, err error) {
	settings = rediskv.Options{
		Patience:     opts.duration("patience"),
		WaitReplicas: opts.number("wait-replicas", 0, 100),
		WaitTimeout:  opts.duration("wait-timeout"),
	}
	near = opts.near("SIZE", false)
	if opts.choice("tls", "off", "on") == 1 {
		settings.TLS = new(tls.Config)
	}
	if err := opts.check(); err != nil {
		return settings, near, "", err
	}
	a, err := parseAddress(rest, "6379")
	settings.Addrs, settings.Username, settings.Password = a.hosts, a.user, a.password
	return settings, near, a.path, err
}
