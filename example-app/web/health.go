package web

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
)

// health replies how the data is: "ok" and "rebuilding" with 200, since the site serves
// what it can, and with 503 "lost" or that the store is not responding. On this machine or
// with the token it adds why.
func (s *Site) health(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	words, status := s.healthOf(r.Context())
	w.WriteHeader(status)
	fmt.Fprintln(w, words)
	if !s.trusts(r) {
		return
	}
	stats := s.app.DB().Stats()
	for _, server := range stats.Away {
		fmt.Fprintln(w, "server away:", server)
	}
	if stats.Lost > 0 {
		fmt.Fprintln(w, "servers that have lost their memory:", stats.Lost)
	}
	for _, index := range stats.Unbuilt {
		fmt.Fprintln(w, "index to rebuild:", index)
	}
}

func (s *Site) healthOf(ctx context.Context) (words string, status int) {
	err := s.app.Health(ctx)
	s.config.Recovery.Notice(err)
	state := s.config.Recovery.Health()
	switch {
	case errors.Is(err, kvmodel.ErrLost) && state == inspect.Well:
		state = inspect.Lost // which it has not noticed yet
	case err != nil && state == inspect.Well:
		return "the store is not responding", http.StatusServiceUnavailable
	}
	if state == inspect.Lost {
		return state.String(), http.StatusServiceUnavailable
	}
	return state.String(), http.StatusOK
}

// metrics writes the totals and the state of the database in the text format of
// Prometheus, one per line.
func (s *Site) metrics(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	if !s.trusts(r) {
		header.Set("Cache-Control", "no-store")
		http.Error(w, "The metrics are for this machine, or with a token.", http.StatusForbidden)
		return
	}
	header.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	for class := 1; class < len(s.totals.requests); class++ {
		fmt.Fprintf(w, "ashiato_requests_total{status=\"%dxx\"} %d\n", class, s.totals.requests[class].Load())
	}
	stats := s.app.DB().Stats()
	for _, line := range []struct {
		name string
		n    int64
	}{
		{"ashiato_requests_open", s.totals.open.Load()},
		{"ashiato_response_bytes_total", s.totals.bytes.Load()},
		{"ashiato_request_microseconds_total", s.totals.micros.Load()},
		{"ashiato_streams_open", int64(s.streams.len())},
		{"ashiato_background_tasks", int64(stats.Background)},
		{"ashiato_background_queued", int64(stats.Queued)},
		{"ashiato_background_room", int64(stats.Room)},
		{"ashiato_background_waiting", int64(stats.Waiting)},
		{"ashiato_background_failed_total", int64(stats.Failed)},
		{"ashiato_changes_open", int64(stats.Lines)},
		{"ashiato_oldest_change_seconds", int64(stats.Oldest.Seconds())},
		{"ashiato_change_retries_total", int64(stats.Retries)},
		{"ashiato_servers_lost", int64(stats.Lost)},
		{"ashiato_servers_away", int64(len(stats.Away))},
		{"ashiato_indexes_unbuilt", int64(len(stats.Unbuilt))},
		{"ashiato_counts_in_doubt", int64(stats.InDoubt)},
	} {
		fmt.Fprintf(w, "%s %d\n", line.name, line.n)
	}
	for _, kind := range slices.Sorted(maps.Keys(stats.Failures)) {
		fmt.Fprintf(w, "ashiato_failures_total{kind=%q} %d\n", kind, stats.Failures[kind])
	}
	for _, b := range stats.Builds {
		fmt.Fprintf(w, "ashiato_build_records_done{model=%q} %d\n", b.Model, b.Done)
		fmt.Fprintf(w, "ashiato_build_records{model=%q} %d\n", b.Model, b.Total)
	}
}
