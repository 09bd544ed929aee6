package conduit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/examples/conduit"
	"github.com/ringtree/ringtree/examples/conduit/tour"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type client struct {
	t       *testing.T
	db      *kvmodel.DB
	handler http.Handler
	token   string
}

func newClient(t *testing.T, store kv.Store) *client {
	db := open(t, store, new(tour.Clock))
	app := conduit.NewApp(db, conduit.Options{Passes: 1})
	return &client{t: t, db: db, handler: conduit.Handler(app, conduit.Tokens{Key: []byte("a key of the tests")})}
}

func (c *client) as(token string) *client { return &client{c.t, c.db, c.handler, token} }

// do sends a request such as "GET /tags". The number of articles is exact once the work after
// replies is done, so do waits for that.
func (c *client) do(request, body string) (int, map[string]any) {
	c.t.Helper()
	must(c.t, c.db.Flush(c.t.Context()))
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequest(method, "/api"+path, bytes.NewBufferString(body))
	if c.token != "" {
		r.Header.Set("Authorization", "Token "+c.token)
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	var answer map[string]any
	if w.Body.Len() > 0 {
		must(c.t, json.Unmarshal(w.Body.Bytes(), &answer))
	}
	return w.Code, answer
}

// wants sends a request and compares parts of the answer, by paths such as article.author.username.
func (c *client) wants(request, body string, status int, want map[string]any) map[string]any {
	c.t.Helper()
	got, answer := c.do(request, body)
	if got != status {
		c.t.Errorf("%s: status %d, want %d: %v", request, got, status, answer)
	}
	some := map[string]any{}
	for path := range want {
		some[path] = at(answer, path)
	}
	if diff := cmp.Diff(want, some); diff != "" && want != nil {
		c.t.Errorf("%s: answer mismatch (-want +got):\n%s", request, diff)
	}
	return answer
}

// at returns the value in an answer at a path, in the first element of a list.
func at(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		if all, ok := v.([]any); ok && len(all) > 0 {
			v = all[0]
		}
		fields, _ := v.(map[string]any)
		v = fields[name]
	}
	return v
}

func (c *client) signUp(name string) string {
	c.t.Helper()
	body := fmt.Sprintf(`{"user":{"username":%q,"email":"%s@example.com","password":"secret"}}`, name, name)
	answer := c.wants("POST /users", body, 201, map[string]any{
		"user.username": name, "user.email": name + "@example.com", "user.bio": nil, "user.image": nil,
	})
	token, _ := at(answer, "user.token").(string)
	return token
}

func TestHandler_ServesTheWholeAPIOnEveryStore(t *testing.T) {
	servers.EachStore(t, func(t *testing.T, url string) { theWholeAPI(newClient(t, storeAt(t, url))) })
}

func theWholeAPI(c *client) {
	ann, bob := c.as(c.signUp("ann")), c.as(c.signUp("bob"))
	c.wants("POST /users/login", `{"user":{"email":"ann@example.com","password":"secret"}}`, 200, map[string]any{"user.username": "ann"})
	ann.wants("GET /user", "", 200, map[string]any{"user.username": "ann", "user.email": "ann@example.com"})
	ann.wants("PUT /user", `{"user":{"bio":"Likes rings.","image":"a.png"}}`, 200, map[string]any{"user.bio": "Likes rings.", "user.image": "a.png"})

	bob.wants("GET /profiles/ann", "", 200, map[string]any{"profile.username": "ann", "profile.following": false})
	bob.wants("POST /profiles/ann/follow", "", 200, map[string]any{"profile.username": "ann", "profile.following": true})

	ann.wants("POST /articles", `{"article":{"title":"On Rings","description":"Newest first","body":"All of it.","tagList":["go","rings"]}}`, 201,
		map[string]any{"article.slug": "on-rings", "article.tagList": []any{"go", "rings"}, "article.favoritesCount": 0.0, "article.author.username": "ann"})
	bob.wants("GET /articles/on-rings", "", 200, map[string]any{"article.body": "All of it.", "article.author.following": true})
	ann.wants("PUT /articles/on-rings", `{"article":{"body":"More of it."}}`, 200, map[string]any{"article.body": "More of it.", "article.title": "On Rings"})

	page := map[string]any{"articlesCount": 1.0, "articles.slug": "on-rings", "articles.body": nil}
	c.wants("GET /articles?tag=rings&limit=5", "", 200, page)
	c.wants("GET /articles?author=ann", "", 200, page)
	c.wants("GET /articles?offset=1", "", 200, map[string]any{"articlesCount": 1.0, "articles": []any{}})
	bob.wants("GET /articles/feed", "", 200, page)
	ann.wants("GET /articles/feed", "", 200, map[string]any{"articlesCount": 0.0, "articles": []any{}})

	bob.wants("POST /articles/on-rings/favorite", "", 200, map[string]any{"article.favorited": true, "article.favoritesCount": 1.0})
	c.wants("GET /articles?favorited=bob", "", 200, page)
	bob.wants("DELETE /articles/on-rings/favorite", "", 200, map[string]any{"article.favorited": false, "article.favoritesCount": 0.0})

	bob.wants("POST /articles/on-rings/comments", `{"comment":{"body":"Nice."}}`, 201, map[string]any{"comment.id": 1.0, "comment.author.username": "bob"})
	ann.wants("GET /articles/on-rings/comments", "", 200, map[string]any{"comments.id": 1.0, "comments.body": "Nice."})
	ann.wants("DELETE /articles/on-rings/comments/1", "", 403, map[string]any{"errors.comment": []any{"forbidden"}})
	bob.wants("DELETE /articles/on-rings/comments/1", "", 204, nil)
	ann.wants("GET /articles/on-rings/comments", "", 200, map[string]any{"comments": []any{}})

	bob.wants("PUT /articles/on-rings", `{"article":{"body":"Less of it."}}`, 403, map[string]any{"errors.article": []any{"forbidden"}})
	bob.wants("DELETE /articles/on-rings", "", 403, map[string]any{"errors.article": []any{"forbidden"}})
	ann.wants("DELETE /articles/on-rings", "", 204, nil)
	c.wants("GET /articles/on-rings", "", 404, map[string]any{"errors.article": []any{"not found"}})
	bob.wants("DELETE /profiles/ann/follow", "", 200, map[string]any{"profile.following": false})
}

func TestHandler_SaysWhatIsWrong(t *testing.T) {
	c := newClient(t, memkv.New(memkv.Options{}))
	ann := c.as(c.signUp("ann"))
	bob := c.as(c.signUp("bob"))
	for _, title := range []string{"Tea", "Coffee"} {
		ann.wants("POST /articles", `{"article":{"title":"`+title+`","description":"d","body":"b"}}`, 201, nil)
	}
	bob.wants("POST /articles/tea/comments", `{"comment":{"body":"b"}}`, 201, nil)
	for _, test := range []struct {
		as            *client
		request, body string
		status        int
		about, text   string
	}{
		{c, "POST /users", `{"user":{"username":"ann","email":"new@example.com","password":"secret"}}`, 409, "username", "has already been taken"},
		{c, "POST /users", `{"user":{"username":"new","email":"ann@example.com","password":"secret"}}`, 409, "email", "has already been taken"},
		{c, "POST /users", `{"user":{"username":"new","password":"secret"}}`, 422, "email", "can't be blank"},
		{c, "POST /users", `{"person":{}}`, 400, "body", "is not what the API expects"},
		{c, "POST /users", `{"user":`, 400, "body", "is not what the API expects"},
		{c, "POST /users/login", `{"user":{"email":"ann@example.com","password":"wrong"}}`, 401, "credentials", "invalid"},
		{c, "POST /users/login", `{"user":{"email":"nobody@example.com","password":"secret"}}`, 401, "credentials", "invalid"},
		{c, "GET /user", "", 401, "token", "is missing"},
		{c, "GET /articles/feed", "", 401, "token", "is missing"},
		{c.as("made.1900000000.up"), "GET /user", "", 401, "token", "invalid"},
		{c.as("nothing"), "GET /articles", "", 401, "token", "invalid"},
		{ann, "GET /profiles/nobody", "", 404, "profile", "not found"},
		{ann, "POST /profiles/nobody/follow", "", 404, "profile", "not found"},
		{ann, "DELETE /profiles/nobody/follow", "", 404, "profile", "not found"},
		{ann, "GET /articles/none", "", 404, "article", "not found"},
		{ann, "PUT /articles/none", `{"article":{"body":"b"}}`, 404, "article", "not found"},
		{ann, "DELETE /articles/none", "", 404, "article", "not found"},
		{ann, "POST /articles/none/favorite", "", 404, "article", "not found"},
		{ann, "DELETE /articles/none/favorite", "", 404, "article", "not found"},
		{ann, "GET /articles/none/comments", "", 404, "article", "not found"},
		{ann, "POST /articles/none/comments", `{"comment":{"body":"b"}}`, 404, "article", "not found"},
		{ann, "POST /articles/tea/comments", `{"comment":{"body":""}}`, 422, "body", "can't be blank"},
		{ann, "PUT /user", `{"user":{"email":"bob@example.com"}}`, 409, "email", "has already been taken"},
		{ann, "PUT /user", `{"user":{"password":""}}`, 422, "password", "can't be blank"},
		{ann, "POST /articles", `{"article":{"description":"d","body":"b"}}`, 422, "title", "can't be blank"},
		{ann, "DELETE /articles/tea/comments/1", "", 403, "comment", "forbidden"},
		{bob, "DELETE /articles/coffee/comments/1", "", 404, "comment", "not found"},
		{bob, "DELETE /articles/tea/comments/2", "", 404, "comment", "not found"},
		{ann, "DELETE /articles/none/comments/1", "", 404, "article", "not found"},
		{ann, "DELETE /articles/none/comments/first", "", 404, "comment", "not found"},
	} {
		test.as.wants(test.request, test.body, test.status, map[string]any{"errors." + test.about: []any{test.text}})
	}
}

func TestHandler_ATokenEndsAndIsNoOtherUsers(t *testing.T) {
	clock := new(tour.Clock)
	db := open(t, memkv.New(memkv.Options{}), clock)
	app := conduit.NewApp(db, conduit.Options{Passes: 1})
	c := &client{t: t, db: db, handler: conduit.Handler(app, conduit.Tokens{Key: []byte("a key of the tests"), For: time.Hour})}
	token := c.signUp("ann")
	c.as(token).wants("GET /user", "", 200, nil)
	user, rest, _ := strings.Cut(token, ".")
	other := c.signUp("bob")
	bob, _, _ := strings.Cut(other, ".")
	if user == bob {
		t.Fatal("both are", user)
	}
	c.as(bob+"."+rest).wants("GET /user", "", 401, nil)
	clock.Pass(time.Hour)
	c.as(token).wants("GET /user", "", 401, map[string]any{"errors.token": []any{"invalid"}})
}

func TestHandler_LimitsAndOffsetsAreBounded(t *testing.T) {
	c := newClient(t, memkv.New(memkv.Options{}))
	ann := c.as(c.signUp("ann"))
	for i := range 101 {
		ann.wants("POST /articles", fmt.Sprintf(`{"article":{"title":"Part %d","description":"d","body":"b"}}`, i), 201, nil)
	}
	for query, want := range map[string]int{"": 20, "limit=5": 5, "limit=1000": 100, "limit=-1": 20, "limit=x&offset=x": 20, "limit=0": 0, "offset=9999999999999999999": 20, "offset=999999999999": 0, "author=ann&offset=100": 1} {
		_, answer := c.do("GET /articles?"+query, "")
		if got := len(answer["articles"].([]any)); got != want || answer["articlesCount"] != 101.0 {
			t.Errorf("%s: %d of %v articles, want %d of 101", query, got, answer["articlesCount"], want)
		}
	}
}

func onBolt(t *testing.T) string { return "bolt:" + t.TempDir() + "/conduit.db?durability=unsynced" }

func storeAt(t *testing.T, url string) kv.Store {
	t.Helper()
	s, err := kvopen.Store(t.Context(), url, all.Engines)
	must(t, err)
	return s
}
