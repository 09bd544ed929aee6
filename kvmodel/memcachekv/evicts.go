package memcachekv

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// refuseEviction returns an error that names the servers that evict items. It logs the silent ones.
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
		return fmt.Errorf("memcachekv: %s: items in use are dropped when the memory is full, and indexes do not stand that: start memcached with -M, or set volatile=on in the URL for data that may be lost at any time", strings.Join(evict, ", "))
	}
	if len(unsaid) > 0 {
		slog.Warn("ringtree: it is not known whether memcached drops items that are in use when its memory is full: see that it was started with -M", "servers", unsaid)
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
