package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// look runs db on a store and fails unless it ends with code and says all of wants.
func look(t *testing.T, store string, code int, args string, wants ...string) {
	t.Helper()
	var out, errs strings.Builder
	got := database(t.Context(), append([]string{"--store", store}, strings.Fields(args)...), strings.NewReader(""), &out, &errs)
	if got != code {
		t.Errorf("db %s: want exit code %d, got %d: %s", args, code, got, errs.String())
	}
	for _, want := range wants {
		if !strings.Contains(out.String()+errs.String(), want) {
			t.Errorf("db %s: want %q, got:\n%s%s", args, want, out.String(), errs.String())
		}
	}
}

func TestDatabase_ShowsWhatTheAppHasWritten(t *testing.T) {
	store := "bolt:" + filepath.Join(t.TempDir(), "app.db")
	_, stop := start(t, "-store", store, "-demo", "30", "-tenant", "snow")
	look(t, store, 0, "status --tenant snow", "through the app, by ", "this one alone has the file", "all is well")
	look(t, store, 2, "get Member demo-member-1", "the app serves only the tenant snow")
	wantEnd(t, stop)
	look(t, store, 0, "status --tenant snow", "Member", "TopViewsPerDay", "FeedItem (events)", "all is well")
	look(t, store, 0, "get Member demo-member-1 --tenant snow", `"heron"`, "Password   ***")
	look(t, store, 0, "list Page.Newest 3 --tenant snow", "3 rows of Page.Newest (timeline)")
	look(t, store, 1, "get Member demo-member-1", "there is none")
	look(t, store, 0, "help", "example-app db [command]", "or else bolt:example-app/data/app.db")
}
