package kvopen

import (
	"context"
	"errors"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
)

func openMemcached(_ context.Context, rest string, opts *options) (kv.Store, error) {
	settings := memcachekv.Options{
		Timeout: opts.duration("timeout"),
		Conns:   opts.number("conns", 1, 10_000),

		PipelineAll: opts.choice("pipeline", "writes", "all") == 1,
	}
	near := opts.near("SIZE,AGE", true)
	if err := opts.check(); err != nil {
		return nil, err
	}
	a, err := parseAddress(rest, "11211")
	if err != nil {
		return nil, err
	}
	if a.user != "" || a.password != "" {
		return nil, errors.New("memcached has no users and passwords")
	}
	if a.path != "" {
		return nil, errors.New("only options may follow the hosts")
	}
	s, err := memcachekv.OpenVolatile(a.hosts, settings)
	if err != nil {
		return nil, err
	}
	return nearTo(s, near)
}
