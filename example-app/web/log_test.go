package web_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web"
	"github.com/ringtree/ringtree/kvmodel"
)

// logOf returns the errors that a site logs during a request for the newest pages while
// its store is down.
func logOf(t *testing.T, ctx context.Context) string {
	t.Helper()
	store := newFrail()
	store.down.Store(true)
	db, err := kvmodel.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	site, err := web.New(ashiato.NewSite(db, cheap), web.Config{Keys: [][]byte{bytes.Repeat([]byte("k"), 32)}})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError})))
	answer := httptest.NewRecorder()
	site.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/newest", nil))
	if answer.Code != http.StatusServiceUnavailable {
		t.Errorf("want status 503, got %d", answer.Code)
	}
	return log.String()
}

func TestLog_ReportsAStoreThatIsDownButNoVisitorWhoLeft(t *testing.T) {
	if log := logOf(t, t.Context()); !strings.Contains(log, "request failed") {
		t.Errorf("want a store that is down logged, got %q", log)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if log := logOf(t, gone); log != "" {
		t.Errorf("want nothing logged for a visitor who left, got %q", log)
	}
}
