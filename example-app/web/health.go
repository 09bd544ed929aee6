package web

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
)

// health replies with 200 if the store answers, and with 503 otherwise.
func (s *Site) health(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	if err := s.app.Health(r.Context()); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "the store is not responding\n")
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

// metrics writes the totals and the state of the database in the text format of
// Prometheus, one per line.
func (s *Site) metrics(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
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
		{"ashiato_streams_open", int64(len(s.streams.slots))},
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
