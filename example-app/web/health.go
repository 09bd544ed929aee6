package web

import (
	"fmt"
	"io"
	"net/http"
)

// health says whether the store answers: 200 if it does, 503 if not.
func (s *Site) health(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	if err := s.app.Health(r.Context()); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "the store does not answer\n")
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

// metrics writes the counts and what the database is doing, one a line, in the text
// format of Prometheus.
func (s *Site) metrics(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	for class := 1; class < len(s.counts.requests); class++ {
		fmt.Fprintf(w, "ashiato_requests_total{status=\"%dxx\"} %d\n", class, s.counts.requests[class].Load())
	}
	stats := s.app.DB().Stats()
	for _, line := range []struct {
		name string
		n    int64
	}{
		{"ashiato_requests_open", s.counts.open.Load()},
		{"ashiato_response_bytes_total", s.counts.bytes.Load()},
		{"ashiato_request_microseconds_total", s.counts.micros.Load()},
		{"ashiato_streams_open", int64(len(s.streams.seats))},
		{"ashiato_background_tasks", int64(stats.Background)},
		{"ashiato_background_waiting", int64(stats.Waiting)},
		{"ashiato_background_failed_total", int64(stats.Failed)},
		{"ashiato_changes_open", int64(stats.Lines)},
		{"ashiato_change_retries_total", int64(stats.Retries)},
	} {
		fmt.Fprintf(w, "%s %d\n", line.name, line.n)
	}
}
