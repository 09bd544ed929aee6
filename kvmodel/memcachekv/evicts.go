package memcachekv

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

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
