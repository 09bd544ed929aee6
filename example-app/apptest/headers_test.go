package apptest

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// serveOnce serves a handler that is not closed by a site.
func serveOnce(t testing.TB, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// everyAnswer returns answers of every kind: pages, forms, redirects, files, failures.
func (c *community) everyAnswer() map[string]reply {
	all := map[string]reply{}
	for _, path := range c.paths() {
		all["ann "+path], all["guest "+path] = c.ann.get(path), c.guest.get(path)
	}
	all["refused form"] = c.ann.post("/write", "id", newID(1))
	all["other site"] = c.ann.send("POST", "/write", "", http.Header{"Sec-Fetch-Site": {"cross-site"}})
	all["bad form"] = c.ann.send("POST", "/write", "%zz", http.Header{"Sec-Fetch-Site": {"same-origin"}})
	all["no such method"] = c.ann.send("DELETE", "/p/tea", "", http.Header{"Sec-Fetch-Site": {"same-origin"}})
	all["OPTIONS"] = c.ann.send("OPTIONS", "/", "", nil)
	return all
}

// paths returns the paths of all pages, with content, and of the files.
func (c *community) paths() []string {
	return []string{
		"/", "/newest", "/feed", "/ranking", "/ranking?span=today", "/ranking?span=all&page=" + c.page, "/topics", "/t/drinks", "/t/drinks/followers",
		"/p/tea", "/m/ann", "/m/ben", "/m/ann/followers", "/write", "/edit/" + c.page, "/history/" + c.page, "/trash", "/footprints", "/settings", "/signup", "/login",
		"/hood", "/hood?page=tea", "/hood?list=titles&of=tea", "/hood?list=topic", "/hood?list=followers&of=ann", "/hood?list=comments&of=tea", "/nowhere", "/p/nothing", "/m/nobody", "/healthz", "/metrics", "/search", "/search?q=te", "/search?q=nothing", "/search/titles?q=te", "/mark.svg", "/live.js", "/search.js",
	}
}

// The metrics count requests and report what the database is doing.
func TestMetrics_CountRequests(t *testing.T) {
	c := newCommunity(t)
	c.guest.want(c.guest.get("/nowhere"), 404)
	got := c.guest.get("/metrics").body
	for _, want := range []string{
		`ashiato_requests_total\{status="2xx"\} [1-9]`, `ashiato_requests_total\{status="4xx"\} 1\n`, `ashiato_requests_open 1\n`,
		`ashiato_response_bytes_total [1-9]`, `ashiato_background_tasks \d+\n`, `ashiato_change_retries_total \d+\n`,
		`ashiato_background_room \d+\n`, `ashiato_oldest_change_seconds \d+\n`, `ashiato_servers_lost 0\n`, `ashiato_servers_away 0\n`,
		`ashiato_indexes_unbuilt 0\n`, `ashiato_counts_in_doubt \d+\n`,
	} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("want a line %s, got:\n%s", want, got)
		}
	}
}

// Every GET route is among the paths, so the tests of all pages leave none out.
func TestPaths_HaveEveryGetRoute(t *testing.T) {
	c := newCommunity(t)
	for _, route := range routesOf(t, "GET") {
		if route == "/live" {
			continue // A stream does not end.
		}
		route = strings.ReplaceAll(route, "{$}", "")
		pattern := regexp.MustCompile("^" + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(route, "[^/]+") + `(\?.*)?$`)
		found := false
		for _, path := range c.paths() {
			found = found || pattern.MatchString(path)
		}
		if !found {
			t.Errorf("no path matches the route GET %s", route)
		}
	}
}

func TestEveryAnswer_IsStrict(t *testing.T) {
	c := newCommunity(t)
	for what, got := range c.everyAnswer() {
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY",
		} {
			if value := got.header.Get(name); value != want {
				t.Errorf("%s: want %s: %s, got %q", what, name, want, value)
			}
		}
		policy := got.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'", "style-src 'self'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: want %s in the policy, got %q", what, want, policy)
			}
		}
		for _, loose := range []string{"unsafe", "*", "data:", "http:", "https:", "blob:"} {
			if strings.Contains(policy, loose) {
				t.Errorf("%s: want no %s in the policy, got %q", what, loose, policy)
			}
		}
		if got.header.Get("Access-Control-Allow-Origin") != "" || got.header.Get("Server") != "" || got.header.Get("X-Powered-By") != "" {
			t.Errorf("%s: want no other origins and no names of programs, got %v", what, got.header)
		}
		if got.body != "" && got.header.Get("Content-Type") == "" {
			t.Errorf("%s: want a content type", what)
		}
	}
}

// Each script of a page has the nonce of the page's policy, and no two answers share a
// nonce. A page has no other script or style.
func TestEveryPage_RunsOnlyScriptsWithItsNonce(t *testing.T) {
	c := newCommunity(t)
	nonceOf := regexp.MustCompile(`script-src 'nonce-([^']{16,})'`)
	nonces, scripts := map[string]string{}, 0
	for what, got := range c.everyAnswer() {
		policy := nonceOf.FindStringSubmatch(got.header.Get("Content-Security-Policy"))
		if policy != nil {
			if other := nonces[policy[1]]; other != "" {
				t.Errorf("%s has the nonce of %s", what, other)
			}
			nonces[policy[1]] = what
		}
		for _, tag := range tags(got.body) {
			if tag.name == "script" {
				scripts++
				if policy == nil || tag.attrs["nonce"] != policy[1] || strings.TrimSpace(tag.text) != "" {
					t.Errorf("%s: a script without the nonce, or inline: %v", what, tag)
				}
			}
			for name := range tag.attrs {
				if name == "style" || strings.HasPrefix(name, "on") {
					t.Errorf("%s: <%s> has %s", what, tag.name, name)
				}
			}
			if tag.name == "style" && strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
				t.Errorf("%s: an inline style", what)
			}
		}
	}
	if scripts == 0 {
		t.Error("want at least one page with a script, or this test proves nothing")
	}
}
