package memcachekv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"

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

// refuseEviction returns an error that names the servers that evict items, and logs the silent
// ones.
func (s *Store) refuseEviction(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	says := askEach(s, func(srv *server) string { return srv.evictions(ctx) })
	var evict, unsaid []string
	for i, srv := range s.servers {
		switch says[i] {
		case "off":
		case "on":
			evict = append(evict, srv.addr)
		default:
			unsaid = append(unsaid, srv.addr)
		}
	}
	if len(evict) > 0 {
		return fmt.Errorf("memcachekv: %s: it drops items when its memory is full, which breaks indexes: start memcached with -M, or set volatile=on in the URL for data that may be lost at any time", strings.Join(evict, ", "))
	}
	if len(unsaid) > 0 {
		slog.Warn("ringtree: cannot tell whether memcached drops items when its memory is full: make sure it was started with -M", "servers", unsaid)
	}
	return nil
}

func (s *server) evictions(ctx context.Context) (says string) {
	_ = s.talk(ctx, func(conn io.Writer, in *bufio.Reader) error {
		settings, err := askStats(conn, in, "stats settings")
		says = settings["evictions"]
		return err
	})
	return says
}
