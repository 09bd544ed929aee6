package web

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// watched gives each request an id, counts and logs it, and replies for a handler
// that panics. Logs contain the path but no query, form or cookie, because those are
// the visitor's own.
func (s *Site) watched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, begun := hex.EncodeToString(kv.RandomBytes(4)), time.Now()
		r = r.WithContext(context.WithValue(r.Context(), idKey{}, id))
		seen := &watchedWriter{ResponseWriter: w}
		s.totals.open.Add(1)
		defer func() {
			s.totals.open.Add(-1)
			s.settle(seen, r, id, begun, recover())
		}()
		next.ServeHTTP(seen, r)
	})
}

// settle counts and logs a request that ended, perhaps with a panic.
func (s *Site) settle(w *watchedWriter, r *http.Request, id string, begun time.Time, panicked any) {
	if panicked == http.ErrAbortHandler {
		panic(panicked)
	}
	if panicked != nil {
		slog.Error("handler panicked", "request", id, "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(panicked))
		if w.status == 0 {
			http.Error(w, "Something went wrong. Request "+id+".", http.StatusInternalServerError)
		}
	}
	took := time.Since(begun)
	s.totals.add(w.status, w.bytes, took)
	slog.Debug("request", "request", id, "method", r.Method, "path", r.URL.Path, "status", w.status, "bytes", w.bytes, "took", took)
}

// watchedWriter records the status and the size of an answer.
type watchedWriter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (w *watchedWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *watchedWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets streams flush and set deadlines.
func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// totals counts what the site has done since it started.
type totals struct {
	requests [6]atomic.Int64 // by the first digit of their status
	bytes    atomic.Int64
	micros   atomic.Int64
	open     atomic.Int64
}

func (t *totals) add(status int, bytes int64, took time.Duration) {
	t.requests[min(max(status/100, 1), 5)].Add(1)
	t.bytes.Add(bytes)
	t.micros.Add(took.Microseconds())
}
