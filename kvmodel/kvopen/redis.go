package kvopen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

func openRedis(ctx context.Context, rest string, opts *options) (kv.Store, error) {
	settings, path, err := redisSettings(rest, opts)
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
	return rediskv.Open(ctx, settings)
}

func openRedisCluster(ctx context.Context, rest string, opts *options) (kv.Store, error) {
	settings, path, err := redisSettings(rest, opts)
	if err != nil {
		return nil, err
	}
	if path != "" {
		return nil, errors.New("a cluster has no databases: only options may follow the hosts")
	}
	return rediskv.Open(ctx, settings)
}

// redisSettings returns the settings that the URLs of a server and of a cluster
// have in common, and what follows the hosts.
func redisSettings(rest string, opts *options) (settings rediskv.Options, path string, err error) {
	settings = rediskv.Options{
		Patience:     opts.duration("patience"),
		WaitReplicas: opts.number("wait-replicas", 0, 100),
		WaitTimeout:  opts.duration("wait-timeout"),
	}
	if opts.choice("tls", "off", "on") == 1 {
		settings.TLS = new(tls.Config)
	}
	if err := opts.check(); err != nil {
		return settings, "", err
	}
	a, err := parseAddress(rest, "6379")
	settings.Addrs, settings.Username, settings.Password = a.hosts, a.user, a.password
	return settings, a.path, err
}
