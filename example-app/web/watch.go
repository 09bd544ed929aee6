package web

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// watched gives each request an id, counts and logs it, and answers for a
// handler that panics. Logs name the path and no more: what stands after it, in
// forms and in cookies is the visitor's own.
func (s *Site) watched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, begun := requestID(), time.Now()
		r = r.WithContext(context.WithValue(r.Context(), idKey{}, id))
		seen := &watchedWriter{ResponseWriter: w}
		s.counts.open.Add(1)
		defer func() {
			s.counts.open.Add(-1)
			s.settle(seen, r, id, begun, recover())
		}()
		next.ServeHTTP(seen, r)
	})
}

// settle counts and logs a request that has ended, perhaps with a panic.
func (s *Site) settle(w *watchedWriter, r *http.Request, id string, begun time.Time, panicked any) {
	if panicked == http.ErrAbortHandler {
		panic(panicked)
	}
	if panicked != nil {
		slog.Error("a handler has panicked", "request", id, "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(panicked))
		if w.status == 0 {
			http.Error(w, "Something is wrong on this site. Request "+id+".", http.StatusInternalServerError)
		}
	}
	took := time.Since(begun)
	s.counts.add(w.status, w.bytes, took)
	slog.Debug("request", "request", id, "method", r.Method, "path", r.URL.Path, "status", w.status, "bytes", w.bytes, "took", took)
}

func requestID() string {
	var b [4]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// watchedWriter remembers what went through it.
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

// Unwrap lets streams flush and set their deadlines.
func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
