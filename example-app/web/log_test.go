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

// logOf returns what is logged as an error while a request for the newest pages is
// answered by a site whose store is down.
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
		t.Errorf("the answer is %d", answer.Code)
	}
	return log.String()
}

func TestLog_HasAStoreThatIsDownAndNoVisitorWhoHasGone(t *testing.T) {
	if log := logOf(t, t.Context()); !strings.Contains(log, "request failed") {
		t.Errorf("a store that is down is logged as %q", log)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if log := logOf(t, gone); log != "" {
		t.Errorf("a visitor who has gone is logged as %q", log)
	}
}
