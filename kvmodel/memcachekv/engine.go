package memcachekv

import (
	"context"
	"errors"
	"net/url"

	"github.com/ringtree/ringtree/internal/storeurl"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Engine opens stores on memcached from their URLs, for package kvopen.
var Engine = kv.Engine{
	{Name: "memcached", Form: "memcached://HOST:PORT,HOST:PORT", Open: openURL},
}

func openURL(ctx context.Context, rest string, options url.Values) (kv.Store, error) {
	given := storeurl.New(options)
	opts := Options{
		Timeout: given.Duration("timeout"),
		Conns:   given.Number("conns", 1, 10_000),

		PipelineWrites: given.Choice("pipeline", "all", "writes") == 1,
	}
	volatile := given.Choice("volatile", "off", "on") == 1
	near := given.Near("SIZE,AGE", true)
	if err := given.Check(); err != nil {
		return nil, err
	}
	a, err := storeurl.ParseAddress(rest, "11211")
	if err != nil {
		return nil, err
	}
	if a.User != "" || a.Password != "" {
		return nil, errors.New("memcached has no users and passwords")
	}
	if a.Path != "" {
		return nil, errors.New("only options may follow the hosts")
	}
	s, err := OpenVolatile(a.Hosts, opts)
	if err != nil {
		return nil, err
	}
	if !volatile {
		if err := s.refuseEviction(ctx); err != nil {
			s.Close()
			return nil, err
		}
	}
	return storeurl.Keep(s, near)
}
